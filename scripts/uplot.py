"""Fetches what the console draws charts with: uPlot, by npm, checked against the hash that is pinned here.

`uplot.py` puts it into the source tree, where git does not look, and a wheel is built with it (`hatch_build.py`);
`uplot.py --check` tells by its exit code whether it is there."""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "uplot@1.6.32"
SHA512 = "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="
FILES = {
    "package/dist/uPlot.iife.min.js": "uPlot.iife.min.js",
    "package/dist/uPlot.min.css": "uPlot.min.css",
    "package/LICENSE": "LICENSE",
}
PLACE = Path(__file__).parents[1] / "src" / "rockdove" / "console" / "static" / "vendor"


class FetchError(Exception):
    """uPlot cannot be had; the text says why."""


def is_there() -> bool:
    version = PLACE / "VERSION"
    names = (*FILES.values(), version.name)
    return all((PLACE / name).is_file() for name in names) and version.read_text().strip() == PACKAGE


def fetch() -> None:
    """Raises `FetchError`."""
    with tempfile.TemporaryDirectory() as folder:
        archive = _pack(Path(folder))
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != SHA512:
            raise FetchError(f"npm gave another {PACKAGE} than is expected (sha512 {found}); it is not used")
        PLACE.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            for member, name in FILES.items():
                content = packed.extractfile(member)
                assert content is not None
                (PLACE / name).write_bytes(content.read())
    (PLACE / "VERSION").write_text(f"{PACKAGE}\n")


def _pack(folder: Path) -> Path:
    command = ["npm", "pack", "--silent", PACKAGE]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        raise FetchError("there is no npm") from None
    except subprocess.TimeoutExpired:
        raise FetchError("npm did not come to an end") from None
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        raise FetchError(f"npm could not fetch {PACKAGE}: {_last_line(done.stderr)}")
    return archives[0]


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and "complete log" not in line]
    return lines[-1] if lines else "it says nothing"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(not is_there())
    if not is_there():
        try:
            fetch()
        except FetchError as error:
            sys.exit(f"rockdove: {error}")
