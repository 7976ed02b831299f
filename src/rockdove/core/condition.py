"""Conditions of policy statements: the common operators over the common keys, and over keys that no request has."""

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from rockdove.core.glob import glob

# What is known of a request, by lower-case names of keys; a key that does not apply is not there.
Context = Mapping[str, str]
Test = Callable[[Context], bool]
# Whether a value of the context fits.
Match = Callable[[str], bool]

# The keys, with the families of operators that make sense for them besides those of strings.
KEYS: dict[str, frozenset[str]] = {
    "aws:currenttime": frozenset(("Date",)),
    "aws:epochtime": frozenset(("Date", "Numeric")),
    "aws:securetransport": frozenset(("Bool",)),
    "aws:sourceip": frozenset(("Ip",)),
    "aws:principalaccount": frozenset(("Numeric",)),
    "aws:principalarn": frozenset(("Arn",)),
    "aws:sourcearn": frozenset(("Arn",)),
    "aws:sourceaccount": frozenset(("Numeric",)),
}
_PRINCIPAL = "aws:principalarn"
_OF_ALL, _OF_ANY = "ForAllValues:", "ForAnyValue:"
_VARIABLE = "${"
# Those that no request has. Only what a topic delivers comes from somewhere.
_NEVER = frozenset(("aws:sourcearn", "aws:sourceaccount"))
# By name: the family, whether it is a negation, and what to do with a value of the policy.
_Operator = tuple[str, bool, Callable[[str], Match]]


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# What stands before an IPv4 address in IPv6.
_MAPPED_BITS = 96


class Unsupported(ValueError):
    """Something in a policy that this service does not know; says what."""


def compile_conditions(conditions: Any, allow: bool) -> list[Test]:
    """All tests must hold. Raises `Unsupported`.

    ``allow``: whether the statement allows something. Then it does not because of a key that is not known here.
    """
    if not isinstance(conditions, dict):
        raise Unsupported("Condition must be an object")
    tests = []
    for operator, block in conditions.items():
        if not isinstance(block, dict) or not block:
            raise Unsupported(f"the condition {operator} must be an object with keys")
        tests += [_test(operator, key, values, allow) for key, values in block.items()]
    return tests


def _test(operator: str, key: str, values: Any, allow: bool) -> Test:
    name = key.lower()
    known = name in KEYS
    foreign = not known or name in _NEVER
    texts = [_text(value, key) for value in (values if isinstance(values, list) else [values])]
    if not texts:
        raise Unsupported(f"the condition key {key} has no value")
    if any(_VARIABLE in text for text in texts):
        # Nobody can tell what it stands for: it grants nothing, and a statement that denies something still does.
        return lambda context: not allow
    if operator == "Null":
        is_null = _null(name, texts)
        return (lambda context: False) if foreign and allow else is_null
    # Of several values of a key: all of them, or any. A key has one here, or is not there.
    of_all, of_any = operator.startswith(_OF_ALL), operator.startswith(_OF_ANY)
    whole = operator.removeprefix(_OF_ALL).removeprefix(_OF_ANY)
    base = whole.removesuffix("IfExists")
    if base not in _OPERATORS:
        raise Unsupported(f"the condition operator {operator} is not supported")
    family, negated, make = _OPERATORS[base]
    if known and family != "String" and family not in KEYS[name]:
        raise Unsupported(f"the condition operator {operator} does not go with {key}")
    if name == _PRINCIPAL:
        foreign = any(map(_is_nobody, texts))
    matches = [make(text) for text in texts]
    # Of a key that is not there, AWS says that a negation holds and nothing else does, unless it ends in IfExists.
    absent = of_all or base != whole or (negated and not of_any)
    if foreign and allow and absent:
        return lambda context: False

    def test(context: Context) -> bool:
        value = context.get(name)
        return absent if value is None else any(match(value) for match in matches) != negated

    return test


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        raise Unsupported(f"the condition key {key} has a value that is no text")
    return value


def _is_nobody(text: str) -> bool:
    """Whether that is no caller's ARN: callers are accounts, not users or roles."""
    parts = text.split(":", 5)
    # No caller's ARN has a slash, wherever a pattern has it.
    return "/" in text or (len(parts) == 6 and glob(parts[5].lower()).match("root") is None)


def _null(name: str, texts: list[str]) -> Test:
    if texts not in (["true"], ["false"]):
        raise Unsupported("the condition Null must have the value true or false")
    wanted = texts == ["true"]
    return lambda context: (name not in context) == wanted


# What the operators do.


def _equals(text: str) -> Match:
    return text.__eq__


def _equals_any_case(text: str) -> Match:
    wanted = text.casefold()
    return lambda value: value.casefold() == wanted


def _like(text: str) -> Match:
    pattern = glob(text)
    return lambda value: pattern.match(value) is not None


def _arn(text: str) -> Match:
    """The six parts of an ARN one by one: a star in one does not reach over a colon into the next."""
    if text == "*":
        return lambda value: True
    parts = text.split(":", 5)
    if len(parts) != 6:
        raise Unsupported(f"{text} is not an ARN")
    patterns = [glob(part) for part in parts]

    def match(value: str) -> bool:
        found = value.split(":", 5)
        return len(found) == 6 and all(
            pattern.match(part) is not None for pattern, part in zip(patterns, found, strict=True)
        )

    return match


def _bool(text: str) -> Match:
    if text.lower() not in ("true", "false"):
        raise Unsupported(f"{text} is neither true nor false")
    return text.lower().__eq__


def _ip(text: str) -> Match:
    try:
        if "%" in text:
            raise ValueError
        network = _plain(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise Unsupported(f"{text} is not an address or a range of addresses") from None

    def match(value: str) -> bool:
        address = ipaddress.ip_address(value)
        return address in network

    return match


def _plain(network: _Network) -> _Network:
    """IPv4 addresses are compared as such: one that is written as IPv6 would never match a caller's."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, ipaddress.IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return ipaddress.ip_network((mapped, network.prefixlen - _MAPPED_BITS))


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Unsupported(f"{text} is not a number")
    return number


_DIGITS = re.compile(r"\d{1,12}(\.\d+)?", re.ASCII)


def _seconds(text: str) -> float:
    """Of a date as ISO 8601 has it, or of seconds since 1970; UTC where nothing else is said."""
    if _DIGITS.fullmatch(text):
        return float(text)
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Unsupported(f"{text} is not a date") from None


_Compare = Callable[[float, float], bool]


def _ordered(read: Callable[[str], float], compare: _Compare) -> Callable[[str], Match]:
    def make(text: str) -> Match:
        bound = read(text)
        return lambda value: compare(read(value), bound)

    return make


_ORDER: dict[str, tuple[bool, _Compare]] = {
    "Equals": (False, float.__eq__),
    "NotEquals": (True, float.__eq__),
    "LessThan": (False, float.__lt__),
    "LessThanEquals": (False, float.__le__),
    "GreaterThan": (False, float.__gt__),
    "GreaterThanEquals": (False, float.__ge__),
}

_OPERATORS: dict[str, _Operator] = {
    "StringEquals": ("String", False, _equals),
    "StringNotEquals": ("String", True, _equals),
    "StringEqualsIgnoreCase": ("String", False, _equals_any_case),
    "StringNotEqualsIgnoreCase": ("String", True, _equals_any_case),
    "StringLike": ("String", False, _like),
    "StringNotLike": ("String", True, _like),
    "ArnEquals": ("Arn", False, _arn),
    "ArnNotEquals": ("Arn", True, _arn),
    "ArnLike": ("Arn", False, _arn),
    "ArnNotLike": ("Arn", True, _arn),
    "Bool": ("Bool", False, _bool),
    "IpAddress": ("Ip", False, _ip),
    "NotIpAddress": ("Ip", True, _ip),
    **{f"Numeric{name}": ("Numeric", no, _ordered(_number, compare)) for name, (no, compare) in _ORDER.items()},
    **{f"Date{name}": ("Date", no, _ordered(_seconds, compare)) for name, (no, compare) in _ORDER.items()},
}
# All of them, for the documentation; each also with IfExists, ForAllValues: and ForAnyValue:, but for Null.
OPERATORS = (*_OPERATORS, "Null")
