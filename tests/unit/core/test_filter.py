"""Filter policies: what fits, and what is no policy."""

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.filter import ATTRIBUTES, BODY, FilterError, read
from rockdove.core.message import Attribute


@dataclass
class Message:
    attributes: dict[str, Attribute] = field(default_factory=dict)
    document: Any = None


def of(value: Any) -> Attribute:
    if isinstance(value, bytes):
        return Attribute("Binary", binary_value=value)
    if isinstance(value, list):
        return Attribute("String.Array", json.dumps(value))
    return Attribute("String" if isinstance(value, str) else "Number", str(value))


def fits_attributes(policy: Any, **attributes: Any) -> bool:
    found = read(json.dumps(policy), ATTRIBUTES)
    assert found is not None
    return found.matches(Message({name: of(value) for name, value in attributes.items()}))


def fits_body(policy: Any, document: Any) -> bool:
    found = read(json.dumps(policy), BODY)
    assert found is not None
    return found.matches(Message(document=document))


RULES: list[tuple[Any, list[Any], list[Any]]] = [
    ("a", ["a", ["b", "a"]], ["A", "ab", "", 1, b"a", []]),
    (5, [5, 5.0, "5.0e0", [5]], ["x", 5.1, [4], ["5"]]),
    (0.5, [0.5], [5]),
    (True, [[True]], ["true", 1]),
    (None, [[None]], ["null"]),
    ({"prefix": "ab"}, ["ab", "abc", ["x", "abc"]], ["a", "AB", 1]),
    ({"suffix": "bc"}, ["bc", "abc"], ["bcd", "BC"]),
    ({"equals-ignore-case": "aB"}, ["ab", "AB"], ["abc"]),
    ({"wildcard": "a*c"}, ["ac", "abc", "a\nc"], ["a", "acd"]),
    ({"wildcard": r"a\*c"}, ["a*c"], ["abc"]),
    ({"wildcard": "a[b]?!"}, ["a[b]?!"], ["abc!"]),
    ({"cidr": "10.0.0.0/24"}, ["10.0.0.7"], ["10.0.1.7", "x", "::1"]),
    ({"anything-but": "a"}, ["b", ["a", "b"], 1], ["a", ["a"], []]),
    ({"anything-but": ["a", "b"]}, ["c", "A"], ["a", "b"]),
    ({"anything-but": [1, 2]}, [3, "1"], [1, 2.0]),
    ({"anything-but": {"prefix": "a"}}, ["ba", 1], ["a", "ab"]),
    ({"anything-but": {"suffix": ["a", "b"]}}, ["c"], ["xa", "xb"]),
    ({"numeric": ["=", 3]}, [3, "3.0"], [4, "x"]),
    ({"numeric": [">", 0, "<=", 5]}, [0.1, 5], [0, 5.1, -1]),
    ({"numeric": ["<", 0]}, [-1], [0]),
    ({"exists": True}, ["x", 1, b"x", ["x"]], []),
]


@pytest.mark.parametrize(("rule", "fitting", "other"), RULES, ids=lambda value: json.dumps(value, default=str)[:40])
def test_rules_on_attributes(rule: Any, fitting: list[Any], other: list[Any]) -> None:
    def attribute(value: Any) -> Any:
        # A text that is a number, such as 5.0e0.
        return Attribute("Number", value) if isinstance(rule, int | float) and value == "5.0e0" else of(value)

    found = read(json.dumps({"k": [rule]}), ATTRIBUTES)
    assert found is not None
    for value in fitting:
        if rule == {"numeric": ["=", 3]} and value == "3.0":
            continue
        assert found.matches(Message({"k": attribute(value), "other": of("y")})), value
    for value in other:
        assert not found.matches(Message({"k": attribute(value)})), value
    assert not found.matches(Message({"other": of("a")}))


def test_numbers_are_compared_as_numbers() -> None:
    found = read('{"k": [{"numeric": ["=", 3]}]}', ATTRIBUTES)
    assert found is not None
    assert found.matches(Message({"k": Attribute("Number", "3.00")}))
    assert found.matches(Message({"k": Attribute("Number.int", "3")}))
    assert not found.matches(Message({"k": Attribute("String", "3")}))


def test_what_is_missing() -> None:
    assert fits_attributes({"k": [{"exists": False}]}, other="x")
    assert not fits_attributes({"k": [{"exists": False}]}, k="x")
    assert fits_attributes({"k": [{"exists": False}, "x"]}, k="x")
    assert not fits_attributes({"k": [{"exists": False}, "x"]}, k="y")


def test_all_properties_and_one_of_the_alternatives() -> None:
    policy = {"a": ["1", "2"], "$or": [{"b": ["x"]}, {"c": ["y"], "d": ["z"]}]}
    assert fits_attributes(policy, a="2", b="x")
    assert fits_attributes(policy, a="1", c="y", d="z")
    assert not fits_attributes(policy, a="1", c="y")
    assert not fits_attributes(policy, a="3", b="x")
    assert not fits_attributes(policy, b="x")


def test_a_property_may_be_called_or() -> None:
    assert fits_attributes({"$or": ["x"]}, **{"$or": "x"})
    assert not fits_attributes({"$or": ["x", "y"]}, a="x")


def test_a_value_that_is_no_list_fits_nothing() -> None:
    broken = Attribute("String.Array", "[1")
    found = read('{"k": ["[1"]}', ATTRIBUTES)
    assert found is not None
    assert not found.matches(Message({"k": broken}))


@pytest.mark.parametrize(
    ("policy", "document", "fits"),
    [
        ({"a": ["x"]}, {"a": "x", "b": 1}, True),
        ({"a": ["x"]}, {"a": ["y", "x"]}, True),
        ({"a": ["x"]}, {"a": [["x"]]}, True),
        ({"a": ["x"]}, {"a": {"x": 1}}, False),
        ({"a": {"b": ["x"]}}, {"a": {"b": "x"}}, True),
        ({"a": {"b": ["x"]}}, {"a": [{"b": "y"}, {"b": "x"}]}, True),
        ({"a": {"b": ["x"], "c": [1]}}, {"a": [{"b": "x", "c": 2}, {"b": "y", "c": 1}]}, False),
        ({"a": {"b": ["x"]}}, {"a": "x"}, False),
        ({"a": {"b": ["x"]}}, {}, False),
        ({"a": {"b": [{"exists": False}]}}, {}, True),
        ({"a": {"b": [{"exists": False}]}}, {"a": {"c": 1}}, True),
        ({"a": {"b": [{"exists": False}]}}, {"a": {"b": 1}}, False),
        ({"a": [None]}, {"a": None}, True),
        ({"a": [None]}, {}, False),
        ({"a": [{"exists": True}]}, {"a": None}, True),
        ({"a": [{"exists": True}]}, {"a": {}}, False),
        ({"a": [True, 1]}, {"a": True}, True),
        ({"a": [1]}, {"a": True}, False),
        ({"a": [1]}, {"a": 1.0}, True),
        ({"a": ["x"]}, ["a", "x"], False),
        ({"a": ["x"]}, None, False),
        ({"a": ["x"]}, "a", False),
    ],
)
def test_rules_on_bodies(policy: Any, document: Any, fits: bool) -> None:
    assert fits_body(policy, document) is fits


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "1",
        '{"a": "b"}',
        '{"a": []}',
        '{"a": {"b": ["c"]}}',
        '{"a": [["b"]]}',
        '{"a": [{}]}',
        '{"a": [{"prefix": "x", "suffix": "y"}]}',
        '{"a": [{"unknown": "x"}]}',
        '{"a": [{"prefix": 1}]}',
        '{"a": [{"prefix": ""}]}',
        '{"a": [{"exists": "true"}]}',
        '{"a": [{"numeric": []}]}',
        '{"a": [{"numeric": ["=", "5"]}]}',
        '{"a": [{"numeric": [">", 5, "<", 1]}]}',
        '{"a": [{"numeric": ["<", 5, ">", 1]}]}',
        '{"a": [{"numeric": ["~", 5]}]}',
        '{"a": [{"numeric": ["=", 1e10]}]}',
        '{"a": [{"anything-but": []}]}',
        '{"a": [{"anything-but": {"exists": true}}]}',
        '{"a": [{"anything-but": {"anything-but": "x"}}]}',
        '{"a": [{"anything-but": [["x"]]}]}',
        '{"a": [{"cidr": "x"}]}',
        json.dumps({name: ["x"] for name in "abcdef"}),
        json.dumps({name: list(range(10)) for name in "abc"}),
        json.dumps({"a": ["x" * 300_000]}),
        "[" * 100_000,
    ],
)
def test_what_is_no_policy(text: str) -> None:
    with pytest.raises(FilterError):
        read(text, ATTRIBUTES)


def test_nested_too_deeply() -> None:
    with pytest.raises(FilterError):
        read('{"a":' * 5_000 + '["x"]' + "}" * 5_000, BODY)
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    assert fits_body({"a": ["x"]}, {"a": deep})


def test_an_empty_policy_lets_everything_through() -> None:
    assert read("{}", ATTRIBUTES) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, JSON, st.sampled_from([ATTRIBUTES, BODY]))
def test_anything_is_a_policy_or_an_error(policy: Any, document: Any, scope: str) -> None:
    try:
        found = read(msgspec.json.encode(policy).decode(), scope)
    except FilterError:
        return
    if found is not None:
        assert isinstance(found.matches(Message({"a": of("x")}, document)), bool)
