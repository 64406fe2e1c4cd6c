"""What pyproject.toml cannot say: what a wheel carries besides code, and that archives repeat.

A wheel gets the folder `aiayn_np/_data`: the lessons and exercises, the results behind the figures,
and the pages as HTML. Two builds of the same files give the same bytes: every file has the same
time and rights, whoever builds, and names are sorted. SOURCE_DATE_EPOCH sets another time.
"""

import gzip
import json
import os
import runpy
import shutil
import tarfile
import zipfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
LONG_AGO = 315532800  # 1980-01-01, the first day that a zip archive knows
NOTEBOOKS = (".ipynb", ".py", ".md", ".css")

os.environ.setdefault("SOURCE_DATE_EPOCH", str(LONG_AGO))
os.umask(0o022)


class BuildWithData(build_py):
    """Build the package and fill its folder `_data`. An editable install needs no such folder."""

    def run(self):
        package = Path(self.build_lib, "aiayn_np").resolve()
        if not self.editable_mode:
            shutil.rmtree(package, ignore_errors=True)                 # what an older build left
        super().run()
        if self.editable_mode:
            return
        data = package / "_data"
        (data / "figures").mkdir(parents=True)
        for path in ROOT.glob("figures/*.json"):
            shutil.copyfile(path, data / "figures" / path.name)
        write_archive(data / "notebooks.zip", ROOT / "notebooks")
        make_pages = runpy.run_path(str(ROOT / "docs" / "shipped_pages.py"))["make_pages"]
        make_pages(data / "pages", package)
        for path in package.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


def write_archive(path, folder):
    """The notebooks and their sources as a zip: they are files to be written out, not modules."""
    names = {p.relative_to(folder): p for p in folder.rglob("*") if p.suffix in NOTEBOOKS}
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(names):
            if not any(part.startswith((".", "__")) for part in name.parts):
                info = zipfile.ZipInfo(name.as_posix())
                data = names[name].read_bytes()
                if name.parts[0] == "zh" and name.suffix == ".ipynb":
                    data = without_outputs(data)
                archive.writestr(info, data, zipfile.ZIP_DEFLATED)


def without_outputs(notebook):
    """The file of a Chinese lesson without its outputs: those of the English one are the same."""
    content = json.loads(notebook)
    for cell in content["cells"]:
        if "outputs" in cell:
            cell["outputs"] = []
    return json.dumps(content, ensure_ascii=False).encode()


class RepeatableSdist(sdist):
    """The sdist as a .tar.gz that repeats to the byte."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None,
                     group=None):
        def plain(entry):
            entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            return entry

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        time = int(os.environ["SOURCE_DATE_EPOCH"])
        with (open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=time) as packed,
              tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive):
            archive.add(base_dir, filter=plain)
        return str(path)


setup(cmdclass={"build_py": BuildWithData, "sdist": RepeatableSdist})
