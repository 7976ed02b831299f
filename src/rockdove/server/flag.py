"""What a command line says of a setting; `rockdove.cli.flag` makes flags of it."""

from typing import NamedTuple


class Flag(NamedTuple):
    """Stands in the annotation of a setting. One without it has no flag."""

    help: str
    # None: what is usual for the type.
    metavar: str | None = None
    min: int | None = None
    max: int | None = None
    # None: as the setting is called.
    name: str | None = None
    # None: the default of the setting.
    default: str | None = None
