"""The functions that run inside a Redis server."""

import hashlib
from importlib.resources import files

from rockdove.core.clock import SECOND_US
from rockdove.core.limits import APPLICATION_S, PUBLISHED_S, STAGED_S

NAME = "rockdove"
_LIMITS = {"STAGED_US": STAGED_S, "PUBLISHED_US": PUBLISHED_S, "APPLICATION_US": APPLICATION_S}
_PARTS = ("base", "home", "standard", "fifo", "physical", "lease", "publish", "record")


def code() -> str:
    """All functions as one library."""
    folder = files(__package__) / "functions"
    limits = (f"local {name} = {seconds * SECOND_US}" for name, seconds in _LIMITS.items())
    parts = ((folder / f"{part}.lua").read_text() for part in _PARTS)
    return "\n".join([f"#!lua name={NAME}", *limits, *parts])


CODE = code()
# Tells one version of the functions from another.
DIGEST = hashlib.sha256(CODE.encode()).hexdigest()[:16]
