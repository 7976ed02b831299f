"""A physical queue on a Redis server: each verb is one function call."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import monotonic
from typing import Any

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.limits import NOISY_MIN_IN_FLIGHT
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import UNKNOWN, Appended, Claimed, Counts, Done, Draft, Hint, T, Want
from rockdove.store.redis.codec import encode_message, entries, entry_id, entry_name
from rockdove.store.redis.flight import Flights
from rockdove.store.redis.keyed import KeyedAppend, Piece
from rockdove.store.redis.server import Marked, Server
from rockdove.store.redis.servers import Servers

# A claim removes so many expired messages at most; it is made again if it met nothing else.
MOST_EXPIRED = 1_000
# Seconds for which a hint holds: for whoever has asked for it.
HINTED_S = 0.05


class RedisPhysical:
    """See `rockdove.store.base.Physical`."""

    def __init__(
        self, record: PhysicalRecord, uid: str, servers: Servers, clock: Clock, rng: Random, flights: Flights
    ) -> None:
        """``uid`` and ``flights`` are the logical queue's."""
        self._record = record
        self._version = 0
        self._uid = uid
        self._flights = flights
        self._servers = servers
        self.home_key = home_key_of(uid)
        self._clock = clock
        self._rng = rng
        self.key = key_of(record.number)
        self._hint = UNKNOWN
        self._hinted_until_s = 0.0

    @property
    def server(self) -> Server:
        return self._servers.of_physical(self._record.number)

    @property
    def home(self) -> Server:
        """The server that decides for the logical queue."""
        return self._servers.home(self._uid)

    @property
    def record(self) -> PhysicalRecord:
        return self._record

    @property
    def said(self) -> str:
        """What the record says, for the server: whether it leaves, and by which version."""
        return f"{int(self._record.leaves)} {self._version}"

    def take_record(self, record: PhysicalRecord, version: int) -> None:
        """The same physical queue may leave from now on, or stay; the records are of that version."""
        self._record = record
        self._version = version

    def hint(self) -> Hint:
        """Others change the queue, too: what was true a moment ago is not known any more."""
        return self._hint if monotonic() < self._hinted_until_s else UNKNOWN

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        self.land(drafts, None, done)

    def land(self, drafts: Sequence[Draft], piece: Piece | None, done: Done[list[Appended]]) -> None:
        """The same for a piece of what was published: once."""
        if all(draft.deduplication_key is None for draft in drafts):
            self.append_here(drafts, self.home_key, piece, done)
            return
        keyed = KeyedAppend(self, self._servers.of_physical, self._clock, drafts, piece, done)
        if self.home is not self.server:
            keyed.start()
            return

        def told(outcome: list[Appended] | StoreError) -> None:
            if isinstance(outcome, Marked):
                keyed.start()
            else:
                done(outcome)

        self.append_here(drafts, self.home_key, piece, told)

    def append_here(self, drafts: Sequence[Draft], keys: str, piece: Piece | None, done: Done[list[Appended]]) -> None:
        """``keys``: where the keys of drafts are kept on this server."""
        function = "rd_append" if piece is None else "rd_land"
        which = () if piece is None else (piece.token, piece.index, piece.round)
        words = (self._clock.now_us(), self.said, *which, *draft_words(drafts))
        self.server.call_on(then(done, self.appended), function, (self.key, keys), *words)

    def appended(self, reply: list[bytes]) -> list[Appended]:
        return [
            Appended(entry_id(int(reply[at]), reply[at + 1]), reply[at + 2].decode()) for at in range(0, len(reply), 3)
        ]

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        flights = self._flights

        def ask(done: Done[Claimed]) -> None:
            self._claim(want, [], want.max_in_flight - flights.beside(self._record.number), done)

        def told(claimed: Claimed | StoreError) -> None:
            if isinstance(claimed, Claimed) and claimed.crowded and flights.number > 1:
                # Perhaps it is not any more.
                flights.refresh(self._ask_in_flight, partial(ask, done))
            else:
                done(claimed)

        if flights.is_known or flights.number == 1 or not want.max_in_flight:
            ask(told)
        else:
            flights.refresh(self._ask_in_flight, partial(ask, done))

    def _ask_in_flight(self, number: int, done: Done[int]) -> None:
        words = (key_of(number), self._clock.now_us())
        self._servers.of_physical(number).call(done, "rd_in_flight", *words, changes=False)

    def _claim(self, want: Want, expired: list[int], most: int, done: Done[Claimed]) -> None:
        """``expired``: what was met and removed before. ``most`` may be in flight here."""
        if want.max_in_flight and most <= 0:
            self._servers.soon(done, Claimed([], [], crowded=True))
            return
        limits = (most if want.max_in_flight else 0, -(-NOISY_MIN_IN_FLIGHT // self._flights.number))
        words = (self._clock.now_us(), self._rng.getrandbits(31), want.attempt or "", *limits)
        told = partial(self._tell, want, expired, most, done)
        self.server.call(told, "rd_claim", self.key, *words, *wanted(want))

    def _tell(self, want: Want, expired: list[int], most: int, done: Done[Claimed], reply: Any) -> None:
        if isinstance(reply, StoreError):
            done(reply)
            return
        claimed = self.claimed(reply)
        if isinstance(reply, list):
            self._flights.told(self._record.number, reply[6])
        if len(claimed.expired) >= MOST_EXPIRED and not claimed.entries and not claimed.dead:
            # The living may stand behind them.
            self._claim(want, expired + claimed.expired, most, done)
            return
        if expired:
            claimed.expired = expired + claimed.expired
        done(claimed)

    def claimed(self, reply: Any) -> Claimed:
        if reply == b"gone":
            return Claimed([], [], gone=True)
        if reply == b"crowded":
            return Claimed([], [], crowded=True)
        next_us, claimed_us, size, expired, living, dead = reply[:6]
        number = self._record.number
        return Claimed(
            entries(number, living),
            entries(number, dead),
            int(next_us) if next_us else None,
            int(claimed_us),
            [entry_id(number, name) for name in expired],
            int(size),
            landing=not living and self._is_about_to_land,
        )

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        words = (self._clock.now_us(), entry_name(id), visible_us, "" if receive_count is None else receive_count)
        self.server.call(then(done, bool), "rd_move", self.key, *words)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        words = (self._clock.now_us(), "" if receive_count is None else receive_count, entry_name(id))
        self.server.call(then(done, lambda reply: bool(reply[0])), "rd_remove", self.key, *words)

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        words: list[str | int] = [self._clock.now_us(), "", *map(entry_name, ids)]
        self.server.call(then(done, bools), "rd_remove", self.key, *words)

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        words: list[str | int] = [self._clock.now_us()]
        for entry in entries:
            words += (entry_name(entry.id), entry.visible_us, entry.receive_count)
        self.server.call(then(done, lambda reply: None), "rd_release", self.key, *words)

    def count(self, done: Done[Counts]) -> None:
        if not self._is_landing:
            self._count(0, done)
            return

        def told(reply: int | StoreError) -> None:
            if isinstance(reply, StoreError):
                done(reply)
            else:
                self._count(reply, done)

        self.home.call(told, "rd_unlanded", self.home_key, self._record.number, changes=False)

    def _count(self, unlanded: int, done: Done[Counts]) -> None:
        """What is published counts before it has landed."""
        told = then(done, lambda reply: Counts(reply[0] + unlanded, reply[1], reply[2], moving=reply[3]))
        self.server.call(told, "rd_count", self.key, self._clock.now_us(), changes=False)

    @property
    def _is_landing(self) -> bool:
        """Whether messages that are published are about to come to the logical queue, as far as is known."""
        return self._uid in self._servers.landing and self.home.is_up

    @property
    def _is_about_to_land(self) -> bool:
        """The same, unless it may have to wait for a server that is away."""
        return self._is_landing and all(server.takes_messages for server in self._servers.all)

    def find(self, id: int, done: Done[Entry | None]) -> None:
        def found(reply: list[Any]) -> Entry | None:
            return next(iter(entries(self._record.number, reply)), None)

        self.server.call(then(done, found), "rd_find", self.key, entry_name(id), changes=False)

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        self.server.call(then(done, bools), "rd_holds", self.key, self.said, *groups)

    def refresh(self, done: Done[None]) -> None:
        """Make the hint true as of now."""

        def told(reply: list[Any]) -> None:
            next_us, holds_any, is_noisy = reply
            if self._is_about_to_land:
                # A visit tells who looks that something is about to come.
                next_us, holds_any = 1, 1
            self._hint = Hint(int(next_us) if next_us else None, bool(holds_any), bool(is_noisy))
            self._hinted_until_s = monotonic() + HINTED_S

        self.server.call(then(done, told), "rd_hint", self.key, self._clock.now_us(), changes=False)


def key_of(number: int) -> str:
    return f"rd:{{{number}}}"


def home_key_of(uid: str) -> str:
    return f"rd:q:{{{uid}}}"


def draft_words(drafts: Sequence[Draft]) -> list[str | int | bytes]:
    words: list[str | int | bytes] = []
    for draft in drafts:
        message, extra = draft.message, draft.message.extra
        group = (extra.group_id or "") if extra is not None else ""
        name = (extra.message_id or "") if extra is not None else ""
        keys = (draft.deduplication_key or "", draft.once_key or "")
        words += (draft.visible_us, message.sent_us, group, *keys, name, encode_message(message))
    return words


def wanted(want: Want) -> tuple[int, ...]:
    return (
        want.limit,
        want.timeout_us,
        want.order_hint,
        want.max_receives,
        want.sent_after_us,
        want.delay_us,
        int(want.spare_noisy),
        want.room_bytes,
        int(want.repeats),
    )


def bools(reply: list[int]) -> list[bool]:
    return list(map(bool, reply))


def then(done: Done[T], read: Callable[[Any], T]) -> Done[Any]:
    """Tells what a reply means."""
    return lambda reply: done(reply if isinstance(reply, StoreError) else read(reply))
