"""What reads and writes Parquet is an extra: looked for only when it is needed."""

from typing import Any

from rockdove.core.errors import MissingExtra


def pyarrow() -> Any:
    """The package. Raises `MissingExtra`."""
    try:
        import pyarrow as package
    except ImportError:
        raise MissingExtra("traces need pyarrow; install it with: pip install 'rockdove[trace]'") from None
    return package


def parquet() -> Any:
    """The part of it that reads and writes Parquet. Raises `MissingExtra`."""
    pyarrow()
    import pyarrow.parquet as part

    return part
