"""What pyproject.toml cannot say: a wheel carries lessons and results in `aiayn_course/_data`."""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithData(build_py):
    """Build the package and fill its folder `_data`. An editable install needs no such folder."""

    def run(self):
        package = Path(self.build_lib, "aiayn_course")
        if not self.editable_mode:
            for older in ("aiayn_np", "aiayn_course"):                 # what an older build left
                shutil.rmtree(Path(self.build_lib, older), ignore_errors=True)
        super().run()
        if not self.editable_mode:
            no_source = shutil.ignore_patterns(".*", "__pycache__")
            lessons = package / "_data" / "notebooks"
            shutil.copytree(ROOT / "notebooks", lessons, ignore=no_source)
            made = [ROOT / "notebooks" / "chinese.py", lessons / "zh"]  # git has none
            subprocess.run([sys.executable, "-B", *made], check=True)
            pages = "symbols", "questions", "zh/symbols", "zh/questions", "zh/glossary"
            for name in ("LICENSE", *(f"docs/{page}.md" for page in pages)):
                (package / "_data" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, package / "_data" / name)
            (package / "_data" / "figures").mkdir()
            for path in ROOT.glob("figures/*.json"):
                shutil.copyfile(path, package / "_data" / "figures" / path.name)


setup(cmdclass={"build_py": BuildWithData})
