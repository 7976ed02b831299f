"""Figures of queues for those who watch them: what has changed since they asked last."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from rockdove import __version__
from rockdove.broker.broker import Broker
from rockdove.broker.queue import Queue
from rockdove.core.attribute import ELASTIC, redrive
from rockdove.core.clock import SECOND_US
from rockdove.core.lease import Holding
from rockdove.core.queue import QueueRecord
from rockdove.server.board import Seat
from rockdove.server.figures import Figures
from rockdove.server.level import REST, Level, holdings, levels, store_bytes
from rockdove.store.base import Counts
from rockdove.wire import figure

# Between two looks at the queues.
PERIOD_S = 0.5
# After the last question, it goes on looking for so long: who watches asks again in a moment.
LINGER_S = 5.0
# An account's figures are forgotten when nobody has asked for so long.
FORGET_S = 60.0
MAX_WAIT_S = 20
# Queues in one answer.
MOST_ROWS = 1_000
# Queues that are gone are remembered for those who have not heard of it; with more of them, all is told anew.
MOST_GONE = 10_000

# What the owner process is asked for: the account, and what it asks; the account and None: how the service is.
Question: TypeAlias = tuple[str, figure.GetFigures | None]
encode = msgspec.msgpack.Encoder().encode
decode_question = msgspec.msgpack.Decoder(Question).decode
decode_figures = msgspec.msgpack.Decoder(figure.GetFiguresResult).decode
decode_service = msgspec.msgpack.Decoder(figure.GetServiceFiguresResult).decode


class Row(Struct):
    """One queue; without figures, it is gone. The stamp tells when it changed."""

    stamp: int
    figures: figure.QueueFigures | None


class Watched(Struct):
    """One account's queues, those that changed last at the end."""

    # With another epoch, all stamps begin anew.
    epoch: str = field(default_factory=lambda: secrets.token_hex(4))
    stamp: int = 0
    rows: dict[str, Row] = {}
    gone: int = 0
    # Who is being answered, and when somebody asked last.
    callers: int = 0
    asked_s: float = 0.0
    # When it was looked at, in microseconds since 1970; 0: not yet.
    looked_us: int = 0
    # When that look began, by the loop's clock.
    looked_s: float = 0.0

    def asked_since(self, time_s: float) -> bool:
        return self.callers > 0 or self.asked_s > time_s

    def put(self, name: str, figures: figure.QueueFigures | None) -> None:
        before = self.rows.get(name)
        if before is not None and before.figures == figures:
            return
        self.rows.pop(name, None)
        self.stamp += 1
        self.rows[name] = Row(self.stamp, figures)
        self.gone += (figures is None) - (before is not None and before.figures is None)

    def since(self, stamp: int) -> list[tuple[str, Row]]:
        """What has changed after that, in the order of the changes."""
        changed: list[tuple[str, Row]] = []
        for name, row in reversed(self.rows.items()):
            if row.stamp <= stamp:
                break
            changed.append((name, row))
        changed.reverse()
        return changed

    def begin_anew(self) -> None:
        self.epoch, self.stamp, self.rows, self.gone = secrets.token_hex(4), 0, {}, 0


class Live:
    """Looks at the queues of the accounts that ask, and only as long as somebody does."""

    def __init__(self, broker: Broker, seat: Seat, figures: Callable[[], Awaitable[Figures]]) -> None:
        """``figures`` gives what all processes of the service have counted."""
        self._broker = broker
        self._seat = seat
        self._figures = figures
        self._accounts: dict[str, Watched] = {}
        self._task: asyncio.Task[None] | None = None
        self._ticked = asyncio.Event()
        # Somebody waits for the next look.
        self._hurry = asyncio.Event()

    async def answer(self, payload: bytes) -> bytes:
        """A question of another process of the service."""
        account, request = decode_question(payload)
        return encode(await (self.service() if request is None else self.changes(account, request)))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def changes(self, account: str, request: figure.GetFigures) -> figure.GetFiguresResult:
        """Raises a fault if the figures cannot be collected."""
        watched = self._accounts.setdefault(account, Watched())
        watched.callers += 1
        try:
            return await self._changes(watched, request)
        finally:
            watched.callers -= 1
            watched.asked_s = asyncio.get_running_loop().time()

    async def _changes(self, watched: Watched, request: figure.GetFigures) -> figure.GetFiguresResult:
        time = asyncio.get_running_loop().time
        began_s = time()
        until_s = began_s + (request.wait_seconds or 0)
        stamp = _stamp(request.since, watched.epoch)
        # Who begins is told of all that was there before he asked.
        await self._look_after(watched, began_s if stamp is None else began_s - PERIOD_S)
        while True:
            changed = watched.since(stamp or 0)
            wanted = changed
            if request.queue_names is not None:
                names = frozenset(request.queue_names)
                wanted = [each for each in changed if each[0] in names]
            if wanted or stamp is None or time() >= until_s:
                break
            stamp = watched.stamp
            epoch = watched.epoch
            await self._next_tick(until_s - time())
            if watched.epoch != epoch:
                stamp = None
        if stamp is None:
            # Who knows nothing yet need not hear of what is gone.
            wanted = [each for each in wanted if each[1].figures is not None]
        given = wanted[:MOST_ROWS]
        more = len(given) < len(wanted)
        last = given[-1][1].stamp if more else watched.stamp
        return figure.GetFiguresResult(
            version=f"{watched.epoch}:{last}",
            time=watched.looked_us / SECOND_US,
            whole=stamp is None,
            more=more,
            queues=[row.figures for _, row in given if row.figures is not None],
            gone=[name for name, row in given if row.figures is None],
        )

    async def service(self) -> figure.GetServiceFiguresResult:
        counted, store = await self._figures(), self._broker.store
        return figure.GetServiceFiguresResult(
            version=__version__,
            store=store.name,
            accounts=False,
            queues=len(self._broker.directory),
            connections=self._seat.connections.total(),
            long_polls=self._seat.waiting.total(),
            trouble=store.trouble or store.full,
            store_bytes=await store_bytes(store),
            operations=[
                figure.OperationFigures(
                    operation=name,
                    count=sum(counts),
                    seconds=seconds,
                    errors=sum(counted.errors.get(name, {}).values()),
                )
                for name, (counts, seconds) in sorted(counted.timings.items())
            ],
        )

    # Looking.

    async def _look_after(self, watched: Watched, after_s: float) -> None:
        """Until the account's queues have been looked at after that time."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._go_on())
        while watched.looked_s <= after_s:
            self._hurry.set()
            await self._next_tick(MAX_WAIT_S)

    async def _next_tick(self, most_s: float) -> None:
        """Raises what has ended the looking."""
        task, ticked = self._task, asyncio.ensure_future(self._ticked.wait())
        assert task is not None
        try:
            await asyncio.wait((task, ticked), timeout=max(most_s, 0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ticked.cancel()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is not None:
                raise error
            # It had nobody to look for: begin again, unless another who waits has done so.
            if self._task is task:
                self._task = asyncio.get_running_loop().create_task(self._go_on())

    async def _go_on(self) -> None:
        time = asyncio.get_running_loop().time
        while True:
            began_s = time()
            self._accounts = {
                account: each for account, each in self._accounts.items() if each.asked_since(began_s - FORGET_S)
            }
            asked = {account: each for account, each in self._accounts.items() if each.asked_since(began_s - LINGER_S)}
            if not asked:
                return
            self._hurry.clear()
            counted = await self._figures()
            held = await holdings(self._broker.store)
            for account, watched in asked.items():
                await self._look(account, watched, counted, held)
                watched.looked_us, watched.looked_s = self._broker.clock.now_us(), began_s
            ticked, self._ticked = self._ticked, asyncio.Event()
            ticked.set()
            await asyncio.sleep(REST * (time() - began_s))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), PERIOD_S)

    async def _look(self, account: str, watched: Watched, counted: Figures, held: dict[str, Holding]) -> None:
        if watched.gone > MOST_GONE:
            watched.begin_anew()
        records = {record.name: record for record in self._records(account)}
        full = await levels(self._broker, self._full(account, records))
        found = {queue.name: level for queue, level in full.items()}
        for name, record in records.items():
            watched.put(name, self._row(record, found.get(name), counted, held))
        for name in [name for name in watched.rows if name not in records]:
            watched.put(name, None)

    def _records(self, account: str) -> Iterator[QueueRecord]:
        directory = self._broker.directory
        for name in directory.names_of(account):
            record = directory.record(account, name)
            if record is not None:
                yield record

    def _full(self, account: str, records: dict[str, QueueRecord]) -> list[Queue]:
        """Those that may have messages; the others need not even be taken into memory."""
        directory, upkeep = self._broker.directory, self._broker.store.upkeep
        holding = None if upkeep is None else upkeep.holding()
        names = records if holding is None else [name for owner, name in holding if owner == account]
        queues = [directory.get(account, name) for name in names]
        return [queue for queue in queues if queue is not None]

    def _row(
        self, record: QueueRecord, level: Level | None, counted: Figures, held: dict[str, Holding]
    ) -> figure.QueueFigures:
        events = counted.events_of(record.uid)
        counts = Counts(0, 0, 0) if level is None else level.counts
        oldest_us = None if level is None else level.oldest_us
        leased = held.get(record.uid)
        policy = record.attributes.get("RedrivePolicy")
        target = redrive(policy) if policy else None
        return figure.QueueFigures(
            queue_name=record.name,
            created_timestamp=record.created_us // SECOND_US,
            fifo=record.fifo,
            physical_queues=len(record.physical),
            elastic=ELASTIC in record.attributes,
            dead_letter_queue=None if target is None else _dead_letter(target.target, target.target_arn, record),
            max_receive_count=None if target is None else target.max_receives,
            visible=None if counts is None else counts.visible,
            in_flight=None if counts is None else counts.in_flight,
            delayed=None if counts is None else counts.delayed,
            oldest_timestamp=None if oldest_us is None else oldest_us / SECOND_US,
            leased=0 if leased is None else leased.messages,
            sent=events["sent"],
            received=events["received"],
            empty=events["empty"],
            deleted=events["deleted"],
            expired=events["expired"],
            dead_lettered=events["dead-lettered"],
            delivery=counted.deliveries.get(record.uid, []),
        )


def _dead_letter(target: tuple[str, str], arn: str, record: QueueRecord) -> str:
    return target[1] if target[0] == record.account else arn


def _stamp(since: str | None, epoch: str) -> int | None:
    """What the caller knows of; None: nothing that is of use now."""
    known, _, stamp = (since or "").partition(":")
    return int(stamp) if known == epoch and stamp.isdecimal() else None
