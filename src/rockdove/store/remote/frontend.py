"""A front-end as the owner sees it: one connection, the verbs that come over it, and what it has claimed."""

import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.message import Entry, Message
from rockdove.store.base import Claimed, Physical, Store
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.size import stored_bytes
from rockdove.store.common.turns import claimed_bytes
from rockdove.store.remote import asked, told
from rockdove.store.remote.error import named
from rockdove.store.remote.frame import Framed
from rockdove.store.remote.perform import browsing_verbs, lease_verbs, physical_verbs, publication_verbs, record_verbs

# Messages that are not kept until they are delivered, and what stands in their place.
_LARGE_BYTES = 16 * 1024
_LEFT_OUT = Message(0, b"", "")

_decoder: "msgspec.msgpack.Decoder[list[Any]]" = msgspec.msgpack.Decoder(list[asked.Verb])


class Office(Protocol):
    """What the owner offers each of its front-ends."""

    @property
    def store(self) -> Store: ...

    @property
    def arrivals(self) -> ArrivalListeners: ...

    @property
    def clock(self) -> Clock: ...

    def physical(self, number: int) -> Physical: ...

    def leave(self, front_end: "FrontEnd") -> None: ...

    def hear(self, front_end: "FrontEnd", tell: asked.Tell) -> None: ...

    def call(self, topic: str, payload: bytes, done: Callable[[bytes], None]) -> None: ...

    def reply(self, reply: asked.Answer) -> None: ...


class FrontEnd(Framed):
    """For the event loop that drives the store."""

    def __init__(self, desk: Office, sock: socket.socket) -> None:
        super().__init__(sock, _decoder)
        self._desk = desk
        self._store = desk.store
        self._physical = desk.physical
        # What it has claimed and not yet delivered: where it is, and whether it has had its deliveries.
        self._claimed: dict[int, tuple[Physical, Entry, bool]] = {}
        self._listened: set[int] = set()
        self._verbs: dict[type, Callable[[Any], None]] = {
            **physical_verbs(self),
            asked.ClaimEntries: self._claim,
            asked.Release: self._release,
            asked.Delivered: self._delivered,
            asked.Listen: self._listen,
            asked.Unlisten: self._unlisten,
            asked.Refresh: self._refresh,
            asked.Tell: partial(desk.hear, self),
            asked.AskOwner: self._call,
            asked.Answer: desk.reply,
            **browsing_verbs(self),
            **record_verbs(self),
            **lease_verbs(self),
            **publication_verbs(self),
        }

    @property
    def store(self) -> Store:
        return self._store

    def physical(self, number: int) -> Physical:
        return self._physical(number)

    # The connection.

    def received(self, messages: Sequence[Any]) -> None:
        verbs = self._verbs
        for message in messages:
            if self._socket is None:
                # Lost meanwhile: nobody would undo what it does.
                return
            try:
                verbs[type(message)](message)
            except Exception as error:
                self._loop.call_exception_handler({"message": "a verb of a front-end failed", "exception": error})
                token = getattr(message, "token", None)
                if token is not None:
                    self.send(told.Failed(token, StoreError.__name__, f"{type(error).__name__}: {error}"))

    def unsaid(self, message: Any, error: Exception) -> None:
        self._loop.call_exception_handler({"message": "an outcome cannot be told", "exception": error})
        token = getattr(message, "token", None)
        if token is not None:
            self.send(told.Failed(token, StoreError.__name__, f"{type(error).__name__}: {error}"))

    def lost(self) -> None:
        """Nobody gets what it had claimed: let others have it."""
        self._desk.leave(self)
        for number in self._listened:
            self._desk.arrivals.unlisten(number, self._arrived)
        claimed, self._claimed = self._claimed, {}
        self._give_back(list(claimed.values()))

    def _give_back(self, claimed: Sequence[tuple[Physical, Entry, bool]]) -> None:
        now_us = self._desk.clock.now_us()
        parts: dict[int, tuple[Physical, list[Entry]]] = {}
        for physical, entry, dead in claimed:
            if dead:
                # Its count was left as it was.
                physical.move(entry.id, now_us, entry.receive_count, lambda outcome: None)
            elif entry.message is _LEFT_OUT:
                physical.find(entry.id, partial(_give_back_found, physical, entry))
            else:
                parts.setdefault(physical.record.number, (physical, []))[1].append(entry)
        for physical, entries in parts.values():
            physical.release(entries, lambda outcome: None)

    # Outcomes.

    def outcome(self, token: int, kind: Callable[[int, Any], Any] = told.DonePlain) -> Callable[[Any], None]:
        """What a call of the store tells its outcome to."""
        return partial(self._tell, token, kind)

    def _tell(self, token: int, kind: Callable[[int, Any], Any], outcome: Any) -> None:
        if isinstance(outcome, StoreError):
            self.send(told.Failed(token, named(outcome), str(outcome)))
        else:
            self.send(kind(token, outcome))

    # Verbs.

    def _claim(self, verb: asked.ClaimEntries) -> None:
        physical = self._physical(verb.physical)
        physical.claim(verb.want, partial(self._was_claimed, verb.token, physical))

    def _was_claimed(self, token: int, physical: Physical, outcome: Claimed | StoreError) -> None:
        if isinstance(outcome, StoreError):
            self._tell(token, told.DoneClaimed, outcome)
        else:
            self._note(token, physical, outcome)

    def _note(self, token: int, physical: Physical, outcome: Claimed) -> None:
        claimed = self._claimed
        for entry in outcome.entries:
            claimed[entry.id] = (physical, _light(entry), False)
        for entry in outcome.dead:
            claimed[entry.id] = (physical, _light(entry), True)
        if self._socket is None:
            self.lost()
        else:
            size = claimed_bytes(outcome)
            self.send(told.DoneClaimed(token, outcome), size if size > _LARGE_BYTES else 0)

    def _delivered(self, verb: asked.Delivered) -> None:
        claimed = self._claimed
        for id, receive_count in verb.entries:
            held = claimed.get(id)
            # It may have claimed the message once more meanwhile.
            if held is not None and held[1].receive_count == receive_count:
                del claimed[id]

    def _release(self, verb: asked.Release) -> None:
        for entry in verb.entries:
            self._claimed.pop(entry.id, None)
        self._physical(verb.physical).release(verb.entries, self.outcome(verb.token))

    # Hints and wake-ups.

    def _refresh(self, verb: asked.Refresh) -> None:
        places = [self._physical(number) for number in verb.physical]

        def refreshed(outcome: StoreError | None) -> None:
            self.send(told.DoneHints(verb.token, [place.hint() for place in places]))

        self._store.refresh(places, refreshed)

    def _listen(self, verb: asked.Listen) -> None:
        self._listened.add(verb.physical)
        self._desk.arrivals.listen(verb.physical, self._arrived)

    def _unlisten(self, verb: asked.Unlisten) -> None:
        self._listened.discard(verb.physical)
        self._desk.arrivals.unlisten(verb.physical, self._arrived)

    def _arrived(self, number: int, visible: int, next_us: int | None) -> None:
        self.send(told.Arrived(number, visible, next_us))

    def _call(self, verb: asked.AskOwner) -> None:
        self._desk.call(verb.topic, verb.payload, self.outcome(verb.token, told.DoneCalled))


def _light(entry: Entry) -> Entry:
    """Without its message if that is large: a client may take its time to read, and nobody counts what is held here."""
    if stored_bytes(entry.message) < _LARGE_BYTES:
        return entry
    return Entry(entry.id, entry.visible_us, _LEFT_OUT, entry.receive_count, entry.first_received_us)


def _give_back_found(physical: Physical, claimed: Entry, found: Entry | StoreError | None) -> None:
    if isinstance(found, Entry) and found.receive_count == claimed.receive_count:
        # A store releases only what is still as the claim has left it.
        physical.release([replace(found, visible_us=claimed.visible_us)], lambda outcome: None)
