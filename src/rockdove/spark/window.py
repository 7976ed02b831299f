"""Windows of time: how the time of a trace is cut."""

from typing import Final, NamedTuple

# The lengths that one would choose by hand, in seconds.
NATURAL_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
# A plot shows about so many points; a task holds the counts of one queue for all of them.
USUAL, MOST = 240, 100_000


class Windows(NamedTuple):
    """So many windows of `width` microseconds; the first begins at `begin`, a multiple of the width."""

    begin: int
    width: int
    number: int


def cut(first: int, last: int, width_s: float | None = None) -> Windows:
    """Windows from `first` to `last`, microseconds since 1970. Raises `ValueError` if they are too many."""
    width = round(width_s * 1_000_000) if width_s else _natural(last - first)
    begin = first // width * width
    number = (last - begin) // width + 1
    if number > MOST:
        raise ValueError(f"{number:,} windows are more than {MOST:,}: choose longer ones with --window")
    return Windows(begin, width, number)


def _natural(length: int) -> int:
    for seconds in NATURAL_S:
        if length <= seconds * 1_000_000 * USUAL:
            return seconds * 1_000_000
    return -(-length // (USUAL * 86_400_000_000)) * 86_400_000_000
