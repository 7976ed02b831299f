"""What the Redis store can do besides the verbs: browsing, upkeep."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rockdove.core.clock import Clock
from rockdove.core.errors import StoreError
from rockdove.core.ids import entry_id as first_id
from rockdove.core.message import Entry
from rockdove.store.base import MOST_PASSED, Done, Page, Physical, Scanned, Sight
from rockdove.store.redis.codec import entries, entry_id, entry_name
from rockdove.store.redis.physical import RedisPhysical, then

# So many messages one call of `expire` removes at most, and of `retime` looks at.
AT_ONCE = 1_000


def _redis(physical: Physical) -> RedisPhysical:
    assert isinstance(physical, RedisPhysical)
    return physical


class RedisBrowsing:
    """See `rockdove.store.base.Browsing`."""

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        part = _redis(physical)
        part.server.call(then(done, lambda reply: int(reply) if reply else None), "rd_oldest", part.key, changes=False)

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        part = _redis(physical)

        def seen(reply: list[Any]) -> list[Sight]:
            number = part.record.number
            return [
                Sight(int(reply[at + 1]), entry_id(number, reply[at]), int(reply[at + 2]))
                for at in range(0, len(reply), 3)
            ]

        part.server.call(then(done, seen), "rd_sight", part.key, limit, changes=False)

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        part = _redis(physical)
        names = map(entry_name, ids)
        part.server.call(then(done, partial(entries, part.record.number)), "rd_find", part.key, *names, changes=False)

    def scan(self, physical: Physical, page: Page, done: Done[Scanned]) -> None:
        part = _redis(physical)
        number = part.record.number

        def scanned(reply: list[Any]) -> Scanned:
            return Scanned(entries(number, reply[0]), entry_id(number, reply[1]) if reply[1] else None)

        after = max(page.after - first_id(number, 0), 0)
        group = "" if page.group is None else f"={page.group}"
        words = (after, page.limit, page.room_bytes, page.sent_from_us, page.sent_until_us, group, MOST_PASSED)
        part.server.call(then(done, scanned), "rd_scan", part.key, *words, changes=False)


class RedisUpkeep:
    """See `rockdove.store.base.Upkeep`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def holding(self) -> list[tuple[str, str]] | None:
        return None

    def expire(self, physical: Physical, sent_after_us: int, done: Done[list[int]]) -> None:
        part = _redis(physical)
        number = part.record.number
        words = (self._clock.now_us(), sent_after_us, AT_ONCE)
        part.server.call(
            then(done, lambda reply: [entry_id(number, name) for name in reply]), "rd_expire", part.key, *words
        )

    def retime(self, physical: Physical, delay_us: int, done: Done[None]) -> None:
        part = _redis(physical)

        def go_on(cursor: bytes | StoreError) -> None:
            if isinstance(cursor, StoreError):
                done(cursor)
            elif cursor == b"0":
                done(None)
            else:
                step(cursor)

        def step(cursor: bytes) -> None:
            words = (self._clock.now_us(), delay_us, cursor, AT_ONCE)
            part.server.call(go_on, "rd_retime", part.key, *words)

        step(b"0")
