"""What a handler gets, and how it is found."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pytest

from rockdove.client import Message
from rockdove.elastic import Handler, Later, WrongPayload, handler
from rockdove.elastic.worker.execute import CommandFailed, execute
from rockdove.elastic.worker.handler import HandlerError, find


def message(body: str, **attributes: str) -> Message:
    return Message(message_id="m", receipt_handle="r", md5_of_body="", body=body, attributes=attributes)


@dataclass
class Order:
    id: int
    items: list[str]


class Line(msgspec.Struct):
    id: int


class Loose(TypedDict):
    id: int


def plain(body):  # type: ignore[no-untyped-def]
    """A docstring."""


def text(body: str) -> None: ...


def raw(body: bytes) -> None: ...


def whole(message: Message) -> None: ...


def order(order: Order) -> None: ...


def line(line: Line, note: str = "") -> None: ...


def loose(loose: Loose) -> None: ...


def anything(body: Any) -> None: ...


def numbers(numbers: list[int]) -> None: ...


def many(*bodies: str) -> None: ...


class Desk:
    async def __call__(self, order: Order) -> None: ...


ORDER = '{"id": 3, "items": ["a"]}'


@pytest.mark.parametrize(
    ("function", "body", "expected"),
    [
        (plain, "[1]", "[1]"),
        (text, "[1]", "[1]"),
        (raw, "é", "é".encode()),
        (order, ORDER, Order(3, ["a"])),
        (line, '{"id": 3}', Line(3)),
        (loose, '{"id": 3}', {"id": 3}),
        (anything, "[1]", "[1]"),
        (numbers, "[1, 2]", [1, 2]),
        (many, "x", "x"),
        (Desk(), ORDER, Order(3, ["a"])),
    ],
)
def test_the_payload_follows_from_the_annotation(function: Any, body: str, expected: Any) -> None:
    assert Handler(function).payload(message(body)) == expected


def test_a_handler_may_take_the_whole_message() -> None:
    assert Handler(whole).payload(message("x")).message_id == "m"


def test_what_is_not_such_a_payload_is_told() -> None:
    for body in ("nonsense", '{"id": "3", "items": []}', "[" * 5_000):
        with pytest.raises(WrongPayload, match="order takes Order, and the body is not one"):
            Handler(order).payload(message(body))


def test_a_decorated_function_is_a_handler() -> None:
    @handler
    def sync(body: str) -> None: ...

    @handler(concurrency=7)
    async def slow(body: str) -> None: ...

    assert (sync.is_async, sync.concurrency, slow.is_async, slow.concurrency) == (False, None, True, 7)
    assert Handler(Desk()).is_async
    assert Handler(plain).__doc__ == "A docstring."


def none() -> None: ...


def two(one: str, other: str) -> None: ...


def keyword(body: str, *, needed: int) -> None: ...


def strange(body: set[int] | list[int]) -> None: ...


class Nothing:
    """Neither a dataclass, nor anything else that has fields."""


def custom(body: Nothing) -> None: ...


@pytest.mark.parametrize("function", [none, two, keyword])
def test_it_takes_one_argument(function: Any) -> None:
    with pytest.raises(HandlerError, match="must take one argument"):
        Handler(function)


@pytest.mark.parametrize("function", [strange, custom])
def test_a_type_that_no_json_is_read_as_is_refused(function: Any) -> None:
    with pytest.raises(HandlerError, match="cannot be read from JSON"):
        Handler(function)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "elastic_shop.py").write_text(
        "from rockdove.elastic import handler\n"
        "@handler(concurrency=3)\n"
        "def sell(body): pass\n"
        "class Desk:\n"
        "    @staticmethod\n"
        "    def sell(body): pass\n"
        "price = 3\n"
    )
    (tmp_path / "elastic_broken.py").write_text("import elastic_nothing\n")
    (tmp_path / "elastic_failing.py").write_text("raise ValueError('no')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return "elastic_shop"


def test_it_is_found_by_its_name(module: str) -> None:
    assert find(f"{module}:sell").concurrency == 3
    assert find(f"{module}:Desk.sell").concurrency is None


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("elastic_shop", "is named as package.module:function, not 'elastic_shop'"),
        ("elastic_shop:", "is named as"),
        ("elastic_shop:buy", "there is no buy in elastic_shop"),
        ("elastic_shop:price", "is not a function"),
        ("elastic_shop:Desk", "is not a function"),
        ("elastic_none:sell", "there is no module elastic_none: start the worker in its folder"),
        ("elastic_broken:sell", "elastic_broken cannot be imported: there is no module elastic_nothing"),
        ("elastic_failing:sell", "elastic_failing cannot be imported: ValueError: no"),
    ],
)
def test_what_is_wrong_with_a_name_is_told(module: str, place: str, told: str) -> None:
    with pytest.raises(HandlerError) as caught:
        find(place)
    assert told in str(caught.value)


def test_a_command_gets_the_body_and_some_words(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f"cat > {out}; echo $ROCKDOVE_MESSAGE_ID $ROCKDOVE_RECEIVE_COUNT >> {out}"
    found = execute(f"sh -c '{script}'")
    asyncio.run(_call(found, message("body\n", ApproximateReceiveCount="4")))
    assert out.read_text() == "body\nm 4\n"


async def _call(found: Handler, of: Message) -> None:
    result = found(found.payload(of))
    assert result is not None
    await result


def test_a_command_that_fails_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="sh ended with code 3"):
        asyncio.run(_call(execute("sh -c 'exit 3'"), message("")))
    with pytest.raises(CommandFailed, match="sh ended with signal 9"):
        asyncio.run(_call(execute("sh -c 'kill -9 $$'"), message("")))
    # One that does not read a large body does not hang.
    asyncio.run(_call(execute("true"), message("x" * 1_000_000)))


@pytest.mark.parametrize(
    ("command", "told"),
    [("", "is empty"), ("'", "cannot be read"), ("elastic-nothing x", "there is no command elastic-nothing")],
)
def test_what_is_wrong_with_a_command_is_told(command: str, told: str) -> None:
    with pytest.raises(HandlerError, match=told):
        execute(command)


async def yields_later(body: str) -> AsyncIterator[int]:
    yield 1


def yields(body: str) -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("function", [yields, yields_later])
def test_what_yields_is_no_handler(function: Any) -> None:
    """Nothing of it would run, and its messages would be deleted."""
    with pytest.raises(HandlerError, match="yields: a handler works on one message"):
        Handler(function)


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_later_is_some_seconds(seconds: float) -> None:
    with pytest.raises(ValueError, match="comes back after some seconds"):
        Later(seconds)


def test_a_command_is_over_when_it_has_ended_whatever_it_leaves_running() -> None:
    """It has read nothing, and a child of its has its standard input."""
    leaves = execute("sh -c 'sleep 60 & exit 0'")
    asyncio.run(asyncio.wait_for(_call(leaves, message("x" * 1_000_000)), 30))
