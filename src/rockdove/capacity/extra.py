"""What the models calculate with is an extra: looked for only when it is needed."""

from importlib.util import find_spec
from typing import Final

from rockdove.core.errors import MissingExtra

INSTALL: Final = "pip install 'rockdove[capacity]'"
PACKAGES: Final = ("numba", "numpy", "scipy")


def require() -> None:
    """Raises `MissingExtra` if something is not installed. Nothing is imported: numba alone takes half a second."""
    for name in PACKAGES:
        if not _is_installed(name):
            raise MissingExtra(f"planning needs {name}; install it with: {INSTALL}")


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:
        # It is loaded, and says nothing about where it came from; or it was put aside.
        return False
