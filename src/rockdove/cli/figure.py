"""Figures as people read them."""

import re
from datetime import datetime

_UNITS = ((86_400, "day"), (3_600, "h"), (60, "min"), (1, "s"))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def duration(seconds: int) -> str:
    """``90`` is ``1 min 30 s``."""
    parts = []
    for unit, name in _UNITS:
        number, seconds = divmod(seconds, unit)
        if number:
            parts.append(f"{number} {name}{'s' if name == 'day' and number > 1 else ''}")
    return " ".join(parts) or "0 s"


def size(number: int) -> str:
    """``1048576`` is ``1 MiB``."""
    value, unit = float(number), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def moment(seconds: float) -> str:
    """A time since 1970 on this machine's clock."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def amount(number: int, what: str) -> str:
    """``1 message``, ``2,000 messages``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def harmless(text: str) -> str:
    """Text that cannot steer a terminal: control characters are shown as escapes."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
