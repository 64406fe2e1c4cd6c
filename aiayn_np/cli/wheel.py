"""Write the installed package as a wheel, for who has only a folder of lessons."""

import base64
import hashlib
import io
import zipfile
from importlib.metadata import distribution, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
TAGS = "Wheel-Version: 1.0\nGenerator: aiayn-np\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel_name() -> str:
    """Return the file name of the wheel."""
    return f"aiayn_np-{version('aiayn-np')}-py3-none-any.whl"


def wheel(data: dict[str, bytes]) -> bytes:
    """Return the wheel of the installed package.

    data : {path: bytes} of its folder `_data`; an editable install has none
    """
    installed = distribution("aiayn-np")
    files = {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes()
             for path in sorted(PACKAGE.rglob("*")) if path.is_file()
             and not {"__pycache__", "_data"} & set(path.parts)}
    files |= {f"aiayn_np/_data/{name}": content for name, content in data.items()}
    metadata = installed.read_text("METADATA") or installed.read_text("PKG-INFO")
    about = {"METADATA": metadata, "entry_points.txt": installed.read_text("entry_points.txt"),
             "WHEEL": TAGS, "licenses/LICENSE": data["LICENSE"].decode()}
    info = f"aiayn_np-{installed.version}.dist-info"
    files |= {f"{info}/{name}": text.encode() for name, text in about.items() if text}
    record = [f"{name},sha256={digest(content)},{len(content)}\n"
              for name, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content,
                             zipfile.ZIP_DEFLATED)
    return written.getvalue()


def digest(content):
    """Return the SHA-256 of a file as a wheel writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
