"""Words of the form ``name=value`` on a command line."""

import base64
import binascii
from collections.abc import Sequence

from rockdove.cli.failure import Code, Failure
from rockdove.core.message import Attribute

_TYPES = ("String", "Number", "Binary")


def pairs(words: Sequence[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise Failure(f"{word!r} must have the form NAME=VALUE", Code.USAGE)
        if name in found:
            raise Failure(f"{name} is given twice", Code.USAGE)
        found[name] = value
    return found


def attributes(words: Sequence[str] | None) -> dict[str, Attribute]:
    """Message attributes: ``name=value``, or ``name:type=value`` with a type of SQS's; binary ones in base64."""
    found: dict[str, Attribute] = {}
    for key, value in pairs(words).items():
        name, colon, kind = key.partition(":")
        kind = kind if colon else "String"
        if kind.partition(".")[0] not in _TYPES:
            raise Failure(f"the type of attribute {name} must be {', '.join(_TYPES)}, not {kind!r}", Code.USAGE)
        found[name] = _attribute(name, kind, value)
    return found


def _attribute(name: str, kind: str, value: str) -> Attribute:
    if not kind.startswith("Binary"):
        return Attribute(kind, value)
    try:
        return Attribute(kind, binary_value=base64.b64decode(value, validate=True))
    except binascii.Error:
        raise Failure(f"the value of attribute {name} must be base64", Code.USAGE) from None
