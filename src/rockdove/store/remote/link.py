"""A front-end's end of the connection to the owner: verbs go out, outcomes and notices come in."""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any, get_args

import msgspec

from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.remote import asked, told
from rockdove.store.remote.error import StoreAway, made
from rockdove.store.remote.frame import Framed

log = logging.getLogger("rockdove")

# Seconds before the next try to reach the owner.
AGAIN_S = 0.02

_NOTICES = frozenset(get_args(told.Notice))
_decoder: "msgspec.msgpack.Decoder[list[Any]]" = msgspec.msgpack.Decoder(list[told.Outcome | told.Notice])


class Link:
    """Connects by itself, again and again, from `start` to `close`. For the event loop's thread.

    ``began`` is called with the owner's first message after each time that it was reached, ``noticed`` with what it
    says unasked.
    """

    def __init__(self, path: str, began: Callable[[told.Begin], None], noticed: Callable[[told.Notice], None]) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._began = began
        self._noticed = noticed
        self._connection: _Connection | None = None
        self._tokens = 0
        self._pending: dict[int, Callable[[Any], None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        # When the owner was heard of last, by the loop's clock.
        self.heard_s = 0.0
        # Answers questions of the owner's, by their topics.
        self.questions: dict[str, Callable[[], bytes]] = {}

    def start(self) -> None:
        self._task = self._loop.create_task(self._stay_connected())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()
        self._fail_all()

    @property
    def is_up(self) -> bool:
        return self._connection is not None

    # What is said.

    def ask(self, done: Callable[[Any], None], kind: Callable[..., Any], *arguments: Any) -> None:
        """Say a verb; ``done`` gets its outcome."""
        connection = self._connection
        if connection is None:
            self._loop.call_soon(done, away())
            return
        self._tokens = token = self._tokens + 1
        self._pending[token] = done
        connection.send(kind(token, *arguments))

    def ask_together(
        self, done: Callable[[Any], None], kind: Callable[..., Any], physical: int, items: Sequence[Any]
    ) -> None:
        """The same for a verb on a list, whose outcome is a list as long: those of one frame are said as one."""
        connection = self._connection
        key = (kind, physical)
        if connection is None or (joint := connection.growing.get(key)) is None:
            joint = _Joint(items, done)
            if connection is not None:
                connection.growing[key] = joint
            self.ask(joint.landed, kind, physical, joint.items)
        else:
            joint.add(items, done)
            connection.count_request()

    def say(self, verb: asked.Verb) -> None:
        """Say something that has no outcome; while nobody is there, it is lost."""
        if self._connection is not None:
            self._connection.send(verb)

    # Connecting.

    async def _stay_connected(self) -> None:
        while True:
            self._lost.clear()
            sock = socket.socket(socket.AF_UNIX)
            sock.setblocking(False)
            try:
                sock.connect(self._path)
            except OSError:
                sock.close()
                await asyncio.sleep(AGAIN_S)
                continue
            _Connection(sock, self._received, self._fail, self._dropped)
            await self._lost.wait()

    def _fail(self, verb: Any, error: Exception) -> None:
        done = self._pending.pop(getattr(verb, "token", 0), None)
        if done is not None:
            self._loop.call_soon(done, StoreError(f"the request cannot be passed on: {error}"))

    def _dropped(self) -> None:
        self._connection = None
        self._lost.set()
        self._fail_all()

    def _fail_all(self) -> None:
        """Whoever waits for an outcome: nobody will ever tell it."""
        pending, self._pending = self._pending, {}
        for done in pending.values():
            try:
                done(StoreInterrupted("the process that has the store has gone"))
            except Exception as error:
                _complain(error)

    # What is heard.

    def _received(self, connection: "_Connection", messages: Sequence[Any]) -> None:
        self.heard_s = self._loop.time()
        take = self._pending.pop
        for message in messages:
            kind = type(message)
            if kind in _NOTICES:
                self._notice(connection, message)
                continue
            done = take(message.token, None)
            if done is None:
                continue
            try:
                done(made(message.kind, message.text) if kind is told.Failed else message.result)
            except Exception as error:
                # One listener's defect is not the others'.
                _complain(error)

    def _notice(self, connection: "_Connection", notice: told.Notice) -> None:
        try:
            if isinstance(notice, told.Begin):
                self._connection = connection
                self._began(notice)
            elif isinstance(notice, told.Question):
                answer = self.questions.get(notice.topic)
                self.say(asked.Answer(notice.number, b"" if answer is None else answer()))
            else:
                self._noticed(notice)
        except Exception as error:
            _complain(error)


class _Joint:
    """Several requests that are said as one verb; each gets its part of the outcome."""

    __slots__ = ("_parts", "items")

    def __init__(self, items: Sequence[Any], done: Callable[[Any], None]) -> None:
        self.items = list(items)
        self._parts = [(len(items), done)]

    def add(self, items: Sequence[Any], done: Callable[[Any], None]) -> None:
        self.items += items
        self._parts.append((len(items), done))

    def landed(self, outcome: list[Any] | StoreError) -> None:
        start = 0
        for number, done in self._parts:
            try:
                done(outcome if isinstance(outcome, StoreError) else outcome[start : start + number])
            except Exception as error:
                _complain(error)
            start += number


class _Connection(Framed):
    def __init__(
        self,
        sock: socket.socket,
        heard: Callable[["_Connection", Sequence[Any]], None],
        failed: Callable[[Any, Exception], None],
        dropped: Callable[[], None],
    ) -> None:
        super().__init__(sock, _decoder)
        self._heard = heard
        self._failed = failed
        self._dropped = dropped

    def received(self, messages: Sequence[Any]) -> None:
        self._heard(self, messages)

    def unsaid(self, message: Any, error: Exception) -> None:
        _complain(error)
        self._failed(message, error)

    def lost(self) -> None:
        self._dropped()


def away() -> StoreError:
    return StoreAway("the process that has the store is not there; it is started again")


def _complain(error: Exception) -> None:
    context = {"message": "a caller of the store failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
