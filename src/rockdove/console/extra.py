"""What the console is served with is an extra: looked for only when it is needed."""

from importlib.util import find_spec
from typing import Final

from rockdove.core.errors import MissingExtra

INSTALL: Final = "pip install 'rockdove[console]'"
PACKAGES: Final = ("starlette", "uvicorn", "jinja2")


def require() -> None:
    """Raises `MissingExtra` if something is not installed."""
    for name in PACKAGES:
        if find_spec(name) is None:
            raise MissingExtra(f"the console needs {name}; install it with: {INSTALL}")
