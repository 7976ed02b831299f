"""Lengths of time on a command line: ``10s``, ``500ms``, ``1.5m``, ``2h``, ``7d``."""

import re

from rockdove.cli.failure import Code, Failure

_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_FORM = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(sorted(_UNITS_S, key=len, reverse=True))})")


def seconds(text: str, flag: str) -> float:
    """Raises `Failure` for what is no length of time, or none at all."""
    found = _FORM.fullmatch(text)
    if found is None or float(found[1]) == 0:
        raise Failure(f"{flag} must be a length of time such as 10s, 1m or 2h, not {text!r}", Code.USAGE)
    return float(found[1]) * _UNITS_S[found[2]]
