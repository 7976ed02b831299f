"""How long traces are kept: for so long, up to so many bytes, or both."""

import re

from msgspec import Struct

from rockdove.core.errors import RockdoveError

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_PART = re.compile(rf"(\d+)({'|'.join([*_SECONDS, *_BYTES])})")
# The word for keeping everything.
ALL = "all"


class KeepError(RockdoveError):
    """Not a rule that can be understood."""


class Keep(Struct, frozen=True):
    """None: no bound of that kind."""

    seconds: int | None = None
    bytes: int | None = None


def parse(text: str) -> Keep:
    """The rule that a text such as ``7d``, ``10GB`` or ``7d,10GB`` says; ``all`` keeps everything."""
    if text == ALL:
        return Keep()
    seconds: int | None = None
    size: int | None = None
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        number = int(found[1]) if found else 0
        if found and number and found[2] in _SECONDS and seconds is None:
            seconds = number * _SECONDS[found[2]]
        elif found and number and found[2] in _BYTES and size is None:
            size = number * _BYTES[found[2]]
        else:
            raise KeepError(
                f"{text!r} does not say how long to keep traces; give an age (s, m, h, d), a size (KB, MB, GB, TB) or "
                "both, such as 7d, 10GB or 7d,10GB; or all"
            )
    return Keep(seconds, size)
