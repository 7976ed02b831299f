"""Sending by deduplication keys to a physical queue that is on another server than the keys of its logical queue.

See the comment at the head of `functions/home.lua`.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rockdove.core.clock import Clock
from rockdove.core.errors import QueueGone, StoreError
from rockdove.core.ids import physical_of
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Done, Draft
from rockdove.store.redis.codec import entry_id, entry_name
from rockdove.store.redis.server import Server, ServerAway, Void

# So often it is tried again because somebody else sends by the same key.
MOST_TRIES = 10


class Piece(Struct, frozen=True):
    """What lands in one step, once: of a published batch, by its token, the chunk of that index, in that round."""

    token: str
    index: int
    round: int


class Place(Protocol):
    """A physical queue on a server."""

    key: str
    home_key: str

    @property
    def home(self) -> Server: ...

    @property
    def record(self) -> PhysicalRecord: ...

    def append_here(
        self, drafts: Sequence[Draft], keys: str, piece: "Piece | None", done: Done[list[Appended]]
    ) -> None: ...


class KeyedAppend:
    """One append. ``server_of`` finds the server of another physical queue by its number."""

    def __init__(
        self,
        place: Place,
        server_of: Callable[[int], Server],
        clock: Clock,
        drafts: Sequence[Draft],
        piece: Piece | None,
        done: Done[list[Appended]],
    ) -> None:
        self._place = place
        self._server_of = server_of
        self._clock = clock
        self._drafts = drafts
        self._piece = piece
        self._done = done
        self._tries = 0
        # Of drafts with keys: the place of the first with each.
        self._firsts: dict[str, int] = {}
        for at, draft in enumerate(drafts):
            if draft.deduplication_key is not None:
                self._firsts.setdefault(draft.deduplication_key, at)
        self._tokens: dict[str, str] = {}
        # What was sent by these keys before.
        self._known: dict[str, Appended] = {}

    def start(self) -> None:
        self._tries += 1
        if self._tries > MOST_TRIES:
            self._done(StoreError("others send by the same key"))
            return
        for key in self._firsts:
            if key not in self._tokens:
                self._tokens[key] = secrets.token_hex(8)
        words = [word for key in self._firsts for word in (key, self._tokens[key])]
        now_us, number = self._clock.now_us(), self._place.record.number
        self._place.home.call(self._marked, "rd_mark", self._place.home_key, now_us, number, *words)

    def _marked(self, reply: list[bytes] | StoreError) -> None:
        if isinstance(reply, StoreError):
            self._done(reply)
            return
        unsettled: list[tuple[str, int, str]] = []
        for key, known in zip(self._firsts, reply, strict=True):
            if known.startswith(b"="):
                number, name, message_id = known[1:].split(b":", 2)
                self._known[key] = Appended(entry_id(int(number), name), message_id.decode())
            elif known:
                number, token = known[1:].split(b":", 1)
                unsettled.append((key, int(number), token.decode()))
        if unsettled:
            self._ask(unsettled)
        else:
            self._send()

    # What others have begun.

    def _ask(self, unsettled: list[tuple[str, int, str]]) -> None:
        key, number, token = unsettled[0]
        server = self._server_of(number)

        def told(reply: bytes | StoreError) -> None:
            if isinstance(reply, StoreError):
                self._done(reply)
            else:
                self._settle(key, token, reply, lambda outcome: self.start())

        server.call(told, "rd_ask_token", f"rd:{{{number}}}", self._clock.now_us(), token)

    def _settle(self, key: str, token: str, what: bytes, then: Done[int]) -> None:
        self._place.home.call(then, "rd_settle", self._place.home_key, self._clock.now_us(), key, token, what)

    # What is new.

    def _send(self) -> None:
        new = [at for at, draft in enumerate(self._drafts) if self._is_new(at, draft)]
        if not new:
            self._tell({})
            return
        drafts = []
        for at in new:
            key = self._drafts[at].deduplication_key
            drafts.append(replace(self._drafts[at], deduplication_key=self._tokens[key] if key is not None else None))

        def sent(outcome: list[Appended] | StoreError) -> None:
            if isinstance(outcome, Void):
                self._tokens.clear()
                self.start()
            elif isinstance(outcome, QueueGone | ServerAway):
                self._give_up(new, outcome)
            elif isinstance(outcome, StoreError):
                self._done(outcome)
            else:
                self._tell(dict(zip(new, outcome, strict=True)))

        self._place.append_here(drafts, self._place.key, self._piece, sent)

    def _is_new(self, at: int, draft: Draft) -> bool:
        key = draft.deduplication_key
        return key is None or (self._firsts[key] == at and key not in self._known)

    def _give_up(self, new: list[int], error: StoreError) -> None:
        """Nothing was sent: let others send by these keys."""
        keys = [key for at in new if (key := self._drafts[at].deduplication_key) is not None]
        left = len(keys)

        def settled(outcome: int | StoreError) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                self._done(error)

        if not keys:
            self._done(error)
        for key in keys:
            self._settle(key, self._tokens[key], b"", settled)

    def _tell(self, sent: dict[int, Appended]) -> None:
        for at, appended in sent.items():
            key = self._drafts[at].deduplication_key
            if key is not None:
                self._known[key] = appended
                number, name = physical_of(appended.id), entry_name(appended.id)
                what = f"={number}:{name}:{appended.message_id}".encode()
                # Whoever asks before that finds out at the physical queue.
                self._settle(key, self._tokens[key], what, lambda outcome: None)
        self._done(
            [
                sent[at] if draft.deduplication_key is None else self._known[draft.deduplication_key]
                for at, draft in enumerate(self._drafts)
            ]
        )
