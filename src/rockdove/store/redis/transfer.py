"""Moving messages from one physical queue to another: in one step on one server, in four between two.

Between two servers it is first written down at the source where each entry goes. Then it is appended there under a key,
once, then removed at the source, then the key is forgotten. Whoever moves an entry after a crash goes on from there. If
nobody does, the target is asked in the background whether it has it. Until that is known, nobody gets the entry.
"""

import contextlib
import secrets
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple, cast

from msgspec.structs import replace

from rockdove.core.clock import Clock
from rockdove.core.errors import QueueGone, StoreError
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.common.gone import GonePhysical, gone
from rockdove.store.redis.codec import entry_name
from rockdove.store.redis.physical import RedisPhysical, draft_words, key_of
from rockdove.store.redis.server import Server, ServerAway

# So many that were left on their way are looked at in a round.
AT_ONCE = 1_000
# A target remembers for five minutes what has come. Who was stopped for so many seconds does not go on.
LATE_S = 60


class RedisTransfers:
    """See `rockdove.store.base.Transfers`. ``physical`` finds a physical queue of another queue by its number."""

    def __init__(self, clock: Clock, physical: Callable[[int], RedisPhysical]) -> None:
        self._clock = clock
        self._physical = physical

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        if isinstance(source, GonePhysical) or isinstance(target, GonePhysical):
            done(gone() if isinstance(target, GonePhysical) else [])
            return
        assert isinstance(source, RedisPhysical)
        assert isinstance(target, RedisPhysical)
        is_keyed = target.home is not target.server and any(draft.deduplication_key for draft in drafts)
        if source.server is target.server and not is_keyed:
            self._transfer_here(source, ids, target, drafts, done)
        else:
            _Move(self._clock, self._physical, source, ids, target, drafts, done).start()

    def _transfer_here(
        self,
        source: RedisPhysical,
        ids: Sequence[int],
        target: RedisPhysical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        def told(reply: list[bytes] | bytes | StoreError) -> None:
            if reply == b"bound":
                _Move(self._clock, self._physical, source, ids, target, drafts, done).start()
            elif isinstance(reply, StoreError):
                done(reply)
            else:
                done(target.appended(cast(list[bytes], reply)))

        numbers = (self._clock.now_us(), target.said, len(ids))
        words: list[str | int] = [*numbers, *map(entry_name, ids)]
        keys = (source.key, target.key, target.home_key)
        source.server.call_on(told, "rd_transfer", keys, *words, *draft_words(drafts))

    async def finish(self, server: Server, before_us: int) -> None:
        """What has been on its way from a server for too long: it is there, or it stays."""
        flat = await server.ask("rd_moving", "rd", before_us, AT_ONCE)
        for at in range(0, len(flat), 4):
            number, name, there, token = (word.decode() for word in flat[at : at + 4])
            # One whose target is away waits, and the others do not.
            with contextlib.suppress(StoreError):
                await self._finish(server, key_of(int(number)), name, self._physical(int(there)), token)

    async def _finish(self, server: Server, source: str, name: str, target: RedisPhysical, token: str) -> None:
        now_us = self._clock.now_us()
        if await target.server.ask("rd_ask_once", target.key, now_us, _once_key(token, name)):
            await server.ask("rd_remove", source, now_us, "", name)
        else:
            await server.ask("rd_call_back", source, token, 1, name)


class _Move:
    """To another server."""

    def __init__(
        self,
        clock: Clock,
        physical: Callable[[int], RedisPhysical],
        source: RedisPhysical,
        ids: Sequence[int],
        target: RedisPhysical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        self._clock = clock
        self._physical = physical
        self._source = source
        self._ids = ids
        self._target = target
        self._drafts = drafts
        self._done = done
        self._left = 0
        self._appended: dict[int, Appended] = {}
        self._failed: StoreError | None = None
        self._began_s = monotonic()

    def start(self) -> None:
        number, now_us = self._target.record.number, self._clock.now_us()
        words: list[str | int] = [now_us, number, secrets.token_hex(8), *map(entry_name, self._ids)]
        self._source.server.call(self._sent_off, "rd_send_off", self._source.key, *words)

    def _sent_off(self, reply: list[bytes | int] | StoreError) -> None:
        if isinstance(reply, StoreError):
            self._done(reply)
            return
        if monotonic() - self._began_s > LATE_S:
            self._done(StoreError("this process was stopped for so long that others may have done it"))
            return
        ways: dict[_Way, list[int]] = {}
        for at in range(len(self._ids)):
            number, token, is_new = reply[3 * at : 3 * at + 3]
            if number:
                ways.setdefault(_Way(int(number), cast(bytes, token).decode(), bool(is_new)), []).append(at)
        self._left = len(ways)
        if not ways:
            self._done([])
        for way, places in ways.items():
            self._append(way, places)

    def _append(self, way: "_Way", places: list[int]) -> None:
        target = self._target if way.number == self._target.record.number else self._physical(way.number)
        names = [entry_name(self._ids[at]) for at in places]
        keys = [_once_key(way.token, name) for name in names]

        def appended(outcome: list[Appended] | StoreError) -> None:
            if isinstance(outcome, QueueGone) and len(places) > 1:
                # Some of them may be there.
                self._left += len(places) - 1
                for at in places:
                    self._append(way, [at])
                return
            if isinstance(outcome, StoreError):
                self._fail(outcome, way, names)
                return
            self._appended.update(zip(places, outcome, strict=True))
            self._source.remove_all([self._ids[at] for at in places], removed)

        def removed(outcome: list[bool] | StoreError) -> None:
            if not isinstance(outcome, StoreError):
                now_us = self._clock.now_us()
                target.server.call(lambda reply: None, "rd_forget_once", target.key, now_us, *keys)
            self._end(outcome if isinstance(outcome, StoreError) else None)

        drafts = [replace(self._drafts[at], once_key=key) for at, key in zip(places, keys, strict=True)]
        target.append(drafts, appended)

    def _fail(self, error: StoreError, way: "_Way", names: list[str]) -> None:
        """What is certainly not there may go elsewhere."""
        is_refused = isinstance(error, QueueGone)
        if is_refused or (way.is_new and isinstance(error, ServerAway)):
            words: list[str | int] = [way.token, int(is_refused), *names]
            self._source.server.call(lambda reply: self._end(error), "rd_call_back", self._source.key, *words)
        else:
            self._end(error)

    def _end(self, failed: StoreError | None) -> None:
        self._left -= 1
        # What was refused may go elsewhere: but what has failed otherwise is tried again as it is.
        if failed is not None and (self._failed is None or isinstance(self._failed, QueueGone)):
            self._failed = failed
        if not self._left:
            self._done(self._failed or [self._appended[at] for at in sorted(self._appended)])


class _Way(NamedTuple):
    """Where entries go, by which token, and whether this move has decided that."""

    number: int
    token: str
    is_new: bool


def _once_key(token: str, name: str) -> str:
    return f"{token}:{name}"
