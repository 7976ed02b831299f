"""What the models calculate with is an extra: looked for only when it is needed."""

from typing import Final

from rockdove.core.errors import MissingExtra

INSTALL: Final = "pip install 'rockdove[capacity]'"


def require() -> None:
    """Raises `MissingExtra` if something is not installed."""
    try:
        import numba  # noqa: F401
        import numpy  # noqa: F401
        import scipy  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"planning needs {error.name}; install it with: {INSTALL}") from None
