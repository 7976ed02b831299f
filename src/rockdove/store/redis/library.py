"""The functions that run inside a Redis server."""

import hashlib
from importlib.resources import files

NAME = "rockdove"
_PARTS = ("base", "home", "standard", "fifo", "physical", "lease", "record")


def code() -> str:
    """All functions as one library."""
    folder = files(__package__) / "functions"
    return "\n".join([f"#!lua name={NAME}", *((folder / f"{part}.lua").read_text() for part in _PARTS)])


CODE = code()
# Tells one version of the functions from another.
DIGEST = hashlib.sha256(CODE.encode()).hexdigest()[:16]
