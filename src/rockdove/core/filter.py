"""Filter policies of subscriptions: which messages of a topic they get, by the attributes or by the body."""

import ipaddress
import math
import operator
import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from rockdove.core import limits
from rockdove.core.message import Attribute

# What a policy is compared with.
ATTRIBUTES, BODY = "MessageAttributes", "MessageBody"
SCOPES = (ATTRIBUTES, BODY)

_OR = "$or"
# Names of rules: an object with one of them is no alternative of an $or.
_RULES = frozenset(("anything-but", "cidr", "equals-ignore-case", "exists", "numeric", "prefix", "suffix", "wildcard"))
_LARGEST_NUMBER = 1e9
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# In a wildcard: an escaped character, or one that the shell's patterns have a meaning for, and these have not.
_SPECIAL = re.compile(r"\\(.)|([?\[])", re.DOTALL)

_Test: TypeAlias = Callable[[Any], bool]


class FilterError(ValueError):
    """Not a filter policy; says why."""


class Filtered(Protocol):
    """What a filter is asked about."""

    @property
    def attributes(self) -> Mapping[str, Attribute]: ...

    @property
    def document(self) -> Any:
        """The body as JSON; None: it is none."""


class Filter(Struct, frozen=True):
    """A filter policy that was read."""

    node: "_Node"
    scope: str

    def matches(self, message: Filtered) -> bool:
        if self.scope == BODY:
            return isinstance(message.document, dict) and self.node.matches(message.document)
        return self.node.matches({name: _values(each) for name, each in message.attributes.items()})


def read(text: str, scope: str) -> Filter | None:
    """The filter of a policy; None: it is empty, and lets everything through. Raises `FilterError`."""
    if len(text.encode()) > limits.MAX_FILTER_BYTES:
        raise FilterError(f"it must be at most {limits.MAX_FILTER_BYTES} bytes long")
    try:
        policy = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise FilterError("it must be JSON") from None
    if not isinstance(policy, dict):
        raise FilterError("it must be a JSON object")
    if not policy:
        return None
    reader = _Reader(scope == BODY)
    try:
        node = reader.node(policy, ())
    except RecursionError:
        raise FilterError("it is nested too deeply") from None
    if len(reader.paths) > limits.MAX_FILTER_PROPERTIES:
        raise FilterError(f"it must name at most {limits.MAX_FILTER_PROPERTIES} properties")
    if node.combinations > limits.MAX_FILTER_COMBINATIONS:
        raise FilterError(
            f"the numbers of values that its properties may have must not multiply to more than "
            f"{limits.MAX_FILTER_COMBINATIONS}"
        )
    return Filter(node, scope)


class _Leaf(Struct, frozen=True):
    """What one property may be. ``when_there`` and ``when_missing``: whether that is enough."""

    tests: list[_Test]
    combinations: int
    when_there: bool = False
    when_missing: bool = False

    def matches(self, value: Any) -> bool:
        values = [each for each in _flat(value) if not isinstance(each, dict)]
        if self.when_there and (values or value == []):
            return True
        return any(test(each) for test in self.tests for each in values)


class _Node(Struct, frozen=True):
    """All properties must fit, and, of each $or, one of its alternatives."""

    properties: dict[str, "_Leaf | _Node"]
    alternatives: list[list["_Node"]]
    combinations: int

    def matches(self, value: Mapping[str, Any]) -> bool:
        return all(self._fits(name, wanted, value) for name, wanted in self.properties.items()) and all(
            any(node.matches(value) for node in nodes) for nodes in self.alternatives
        )

    def _fits(self, name: str, wanted: "_Leaf | _Node", value: Mapping[str, Any]) -> bool:
        if isinstance(wanted, _Leaf):
            if name in value and not isinstance(value[name], dict):
                return wanted.matches(value[name])
            return wanted.when_missing
        # Of objects in a list, one must have all that is wanted. What is missing has none of the properties.
        objects = [each for each in _flat(value.get(name)) if isinstance(each, dict)]
        return any(map(wanted.matches, objects or [{}]))


def _flat(value: Any) -> list[Any]:
    """What is in a list, and in lists in it, however deep."""
    found, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, list):
            left.extend(reversed(each))
        else:
            found.append(each)
    return found


def _values(attribute: Attribute) -> list[Any]:
    """What an attribute may be compared by: nothing, if it is binary."""
    text = attribute.string_value
    if text is None:
        return []
    if attribute.data_type == "String.Array":
        try:
            found = msgspec.json.decode(text)
        except (ValueError, RecursionError):
            return []
        return found if isinstance(found, list) else [found]
    if attribute.data_type.partition(".")[0] == "Number":
        try:
            return [float(text)]
        except ValueError:
            return []
    return [text]


class _Reader:
    """Reads one policy. Raises `FilterError`."""

    def __init__(self, nests: bool) -> None:
        self._nests = nests
        # Those of all properties that are compared.
        self.paths: set[tuple[str, ...]] = set()

    def node(self, policy: Mapping[str, Any], path: tuple[str, ...]) -> _Node:
        properties: dict[str, _Leaf | _Node] = {}
        alternatives: list[list[_Node]] = []
        combinations = 1
        for name, wanted in policy.items():
            here = (*path, name)
            if name == _OR and _is_or(wanted):
                nodes = [self.node(each, path) for each in wanted]
                alternatives.append(nodes)
                combinations *= sum(node.combinations for node in nodes)
                continue
            inner = self._property(here, wanted)
            properties[name] = inner
            combinations *= inner.combinations
        return _Node(properties, alternatives, combinations)

    def _property(self, path: tuple[str, ...], wanted: Any) -> "_Leaf | _Node":
        name = ".".join(path)
        if isinstance(wanted, dict):
            if not self._nests:
                raise FilterError(f'"{name}" must be a list of values: objects need the scope {BODY}')
            if not wanted:
                raise FilterError(f'"{name}" must not be empty')
            return self.node(wanted, path)
        if not isinstance(wanted, list):
            raise FilterError(f'"{name}" must be a list of values')
        if not wanted:
            raise FilterError(f'"{name}" must have at least one value')
        self.paths.add(path)
        rules = [_rule(name, each) for each in wanted]
        return _Leaf(
            tests=[rule for rule in rules if not isinstance(rule, bool)],
            combinations=len(rules) * len(path),
            when_there=True in rules,
            when_missing=False in rules,
        )


def _is_or(wanted: Any) -> bool:
    """Whether that is a list of alternatives: else it is a property of that name."""
    return (
        isinstance(wanted, list)
        and len(wanted) > 1
        and all(isinstance(each, dict) and each and _RULES.isdisjoint(each) for each in wanted)
    )


def _rule(name: str, wanted: Any) -> _Test | bool:
    """The test of a value; True or False for a rule that it exists, or does not."""
    if not isinstance(wanted, dict):
        return _equal(name, wanted)
    if len(wanted) != 1:
        raise FilterError(f'a rule of "{name}" must have one member')
    ((kind, argument),) = wanted.items()
    if kind == "exists":
        if not isinstance(argument, bool):
            raise FilterError(f'exists of "{name}" must be true or false')
        return argument
    if kind == "anything-but":
        return _anything_but(name, argument)
    if kind == "numeric":
        return _numeric(name, argument)
    return _text_rule(name, kind, argument)


def _equal(name: str, wanted: Any) -> _Test:
    if wanted is not None and not isinstance(wanted, str | bool | int | float):
        raise FilterError(f'a value of "{name}" must be a text, a number, true, false, null, or an object with a rule')
    if not isinstance(wanted, int | float) or isinstance(wanted, bool):
        # Python's 1 is equal to its True.
        return lambda value: type(value) is type(wanted) and value == wanted
    number = _number(name, wanted)
    return lambda value: _is_number(value) and value == number


def _anything_but(name: str, argument: Any) -> _Test:
    if isinstance(argument, dict):
        if len(argument) != 1 or "anything-but" in argument or "exists" in argument:
            raise FilterError(f'anything-but of "{name}" must have one rule on texts')
        ((kind, inner),) = argument.items()
        texts = inner if isinstance(inner, list) else [inner]
        tests = [_text_rule(name, kind, text) for text in texts]
    else:
        wanted = argument if isinstance(argument, list) else [argument]
        if any(isinstance(each, dict | list) for each in wanted):
            raise FilterError(f'anything-but of "{name}" must have texts or numbers')
        tests = [_equal(name, each) for each in wanted]
    if not tests:
        raise FilterError(f'anything-but of "{name}" must have at least one value')
    return lambda value: not any(test(value) for test in tests)


def _numeric(name: str, argument: Any) -> _Test:
    """Of an equality, or of one or two bounds, the lower one first."""
    wrong = FilterError(
        f'numeric of "{name}" must be a comparison and a number, such as ["=", 5], or two for a range, such as '
        '[">", 0, "<=", 5]'
    )
    if not isinstance(argument, list) or len(argument) not in (2, 4):
        raise wrong
    words, numbers = argument[::2], [_number(name, each) for each in argument[1::2]]
    if not all(isinstance(word, str) and word in _COMPARISONS for word in words):
        raise wrong
    if len(words) == 2 and not (words[0][0] == ">" and words[1][0] == "<" and numbers[0] < numbers[1]):
        raise wrong
    bounds = [(_COMPARISONS[word], number) for word, number in zip(words, numbers, strict=True)]
    return lambda value: _is_number(value) and all(compare(value, number) for compare, number in bounds)


def _number(name: str, value: Any) -> float:
    if not _is_number(value) or not -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER:
        raise FilterError(f'a number of "{name}" must be between -{_LARGEST_NUMBER:.0f} and {_LARGEST_NUMBER:.0f}')
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text_rule(name: str, kind: str, argument: Any) -> _Test:
    make = _TEXT_RULES.get(kind)
    if make is None:
        raise FilterError(f'"{name}" has the rule {kind[:64]}, which does not exist')
    if not isinstance(argument, str) or not argument:
        raise FilterError(f'{kind} of "{name}" must be a text')
    try:
        test = make(argument)
    except ValueError as error:
        raise FilterError(f'{kind} of "{name}" is wrong: {error}') from None
    return lambda value: isinstance(value, str) and test(value)


def _prefix(text: str) -> Callable[[str], bool]:
    return lambda value: value.startswith(text)


def _suffix(text: str) -> Callable[[str], bool]:
    return lambda value: value.endswith(text)


def _any_case(text: str) -> Callable[[str], bool]:
    wanted = text.casefold()
    return lambda value: value.casefold() == wanted


def _wildcard(text: str) -> Callable[[str], bool]:
    """A star stands for any text, unless a backslash is before it."""
    pattern = re.compile(translate(_SPECIAL.sub(_plain, text)))
    return lambda value: pattern.match(value) is not None


def _plain(found: re.Match[str]) -> str:
    """A character that stands for itself, as a shell's pattern has it."""
    character = found[1] or found[2]
    return f"[{character}]" if character in "*?[" else character


def _cidr(text: str) -> Callable[[str], bool]:
    network = ipaddress.ip_network(text, strict=False)

    def is_in(value: str) -> bool:
        try:
            return ipaddress.ip_address(value) in network
        except ValueError:
            return False

    return is_in


_TEXT_RULES: Mapping[str, Callable[[str], Callable[[str], bool]]] = {
    "cidr": _cidr,
    "equals-ignore-case": _any_case,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
}
