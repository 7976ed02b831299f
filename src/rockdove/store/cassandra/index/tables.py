"""Rows of the index and of messages, read and written many at a time."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rockdove.store.cassandra import schema
from rockdove.store.cassandra.index.entry import Row, Spot, State, block_of, encode, place_of, row_of
from rockdove.store.cassandra.index.together import Together
from rockdove.store.cassandra.session import Session

# One write has so many bytes at most, unless one message is larger.
WRITE_BYTES = 512 * 1024
# Writes that wait, and messages that are read, at a time.
MOST_WRITES = 100
MOST_READ = 100

Statement = tuple[str, Sequence[Any]]


class Tables:
    """Of one front-end. Everything raises `StoreError`."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._writes: Together[tuple[Any, ...], list[Statement]] = Together(self._write, MOST_WRITES)
        self._messages: Together[tuple[str, int], int] = Together(partial(self._read, schema.READ_MESSAGES), MOST_READ)
        self._states: Together[tuple[str, int], int] = Together(partial(self._read, schema.READ_STATES), MOST_READ)

    @property
    def is_busy(self) -> bool:
        return self._writes.is_busy

    async def _write(self, partition: tuple[Any, ...], items: list[list[Statement]]) -> list[None]:
        batches: list[list[Statement]] = [[]]
        room = WRITE_BYTES
        for rows in items:
            for row in rows:
                size = sum(len(value) for value in row[1] if isinstance(value, bytes))
                if batches[-1] and room < size:
                    batches.append([])
                    room = WRITE_BYTES
                room -= size
                batches[-1].append(row)
        if len(batches) == 1:
            await self.session.ask_batch(batches[0])
        else:
            await asyncio.gather(*(self.session.ask_batch(batch) for batch in batches))
        return [None] * len(items)

    async def _read(self, text: str, block: tuple[str, int], places: list[int]) -> list[Row | None]:
        rows = await self.session.ask(text, *block, sorted(set(places)))
        found = {place: row_of(*rest) for place, *rest in rows}
        return [found.get(place) for place in places]

    # Messages: ``queue`` is the name of the logical queue.

    async def messages(self, queue: str, ids: Sequence[int]) -> dict[int, Row | None]:
        rows = await asyncio.gather(*(self._messages.ask((queue, block_of(id)), place_of(id)) for id in ids))
        return dict(zip(ids, rows, strict=True))

    async def states(self, queue: str, ids: Sequence[int]) -> dict[int, Row | None]:
        """The same, without what they carry."""
        rows = await asyncio.gather(*(self._states.ask((queue, block_of(id)), place_of(id)) for id in ids))
        return dict(zip(ids, rows, strict=True))

    async def is_gone(self, queue: str, id: int) -> bool:
        """Whether no node has it."""
        return not await self.session.ask_all(schema.READ_STATES, queue, block_of(id), [place_of(id)])

    async def put_states(self, queue: str, states: Iterable[tuple[int, State]]) -> None:
        writes: dict[int, list[Statement]] = defaultdict(list)
        for id, state in states:
            values = (1 + state.turn, encode(state), queue, block_of(id), place_of(id))
            writes[block_of(id)].append((schema.PUT_STATE, values))
        await self._write_blocks(queue, writes)

    async def drop_messages(self, queue: str, ids: Iterable[int]) -> None:
        writes: dict[int, list[Statement]] = defaultdict(list)
        for id in ids:
            writes[block_of(id)].append((schema.DROP_BODY, (queue, block_of(id), place_of(id))))
        await self._write_blocks(queue, writes)

    async def add_messages(self, queue: str, rows: Iterable[tuple[int, Sequence[Any]]]) -> None:
        """Each has an id, and the values of a row from its body on."""
        writes: dict[int, list[Statement]] = defaultdict(list)
        for id, values in rows:
            writes[block_of(id)].append((schema.ADD_MESSAGE, (queue, block_of(id), place_of(id), *values)))
        await self._write_blocks(queue, writes)

    async def _write_blocks(self, queue: str, writes: dict[int, list[Statement]]) -> None:
        await asyncio.gather(*(self._writes.ask((queue, block), rows) for block, rows in writes.items()))

    # The index: ``place`` is the name of the physical queue.

    async def add_spots(self, place: str, spots: Iterable[Spot]) -> None:
        await self._write_spots(schema.ADD_SPOT, "add", place, spots)

    async def drop_spots(self, place: str, spots: Iterable[Spot]) -> None:
        await self._write_spots(schema.DROP_SPOT, "drop", place, spots)

    async def _write_spots(self, text: str, how: str, place: str, spots: Iterable[Spot]) -> None:
        writes: dict[int, list[Statement]] = defaultdict(list)
        for spot in spots:
            writes[spot.segment].append((text, (place, *spot)))
        # Removals wait for each other, and nobody waits for them.
        await asyncio.gather(*(self._writes.ask((how, place, segment), rows) for segment, rows in writes.items()))

    async def read_segment(self, place: str, segment: int, from_us: int = 0) -> list[Spot]:
        rows = await self.session.ask(schema.READ_SEGMENT, place, segment, from_us)
        return [Spot(segment, *row) for row in rows]
