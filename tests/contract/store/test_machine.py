"""Random histories on every store, checked step by step against the plain model of `tests.support.store_model`.

The histories are the same in every run. ``STORE_EXAMPLES=1000`` tries so many, and new ones each time; with
``STORE_SHRINK=1`` a failing one is made short, which takes minutes (then also ``-o faulthandler_timeout=0``).
"""

import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rockdove.core.lease import ALL_SHARDS
from rockdove.core.message import Entry
from rockdove.core.publication import WHOLE, Landing, Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Draft
from rockdove.store.base.lease import Leased, Outcome
from rockdove.store.base.publication import Decision, Published
from rockdove.store.sqlite.store import SqliteStore
from tests.support.publication_model import PublicationModel, parcel_bytes
from tests.support.store import STORES, Bench, message, us
from tests.support.store_model import Model, check_entries, state_of

EXAMPLES = os.environ.get("STORE_EXAMPLES")
SHRINK = bool(os.environ.get("STORE_SHRINK"))

# Queues 1 and 3 are FIFO; 2 and 3 are where the dead of 0 and 1 go.
FIFO = (False, True, False, True)
QUEUES = st.sampled_from([0, 0, 1, 1, 1, 2, 3])
RETENTION_S = 60

GROUPS = st.sampled_from(["a", "b", "c"])
SMALL_STEPS_S = st.sampled_from([0.000001, 0.5, 1, 4.999999, 5, 10])
LARGE_STEPS_S = st.sampled_from([30, 60, 61, 299.999999, 300])
WANTS = st.fixed_dictionaries(
    {
        "limit": st.sampled_from([1, 1, 2, 3, 10]),
        "timeout_s": st.sampled_from([0, 1, 5, 10, 30, 100]),
        "max_receives": st.sampled_from([0, 0, 1, 2]),
        "retention_s": st.sampled_from([None, None, None, RETENTION_S]),
    }
)

SHARDS = st.sampled_from([0, 1])
SEQUENCES = st.integers(0, 5)
LEASE_WANTS = st.fixed_dictionaries(
    {
        "limit": st.sampled_from([1, 2, 5, 100]),
        "timeout_s": st.sampled_from([1, 30]),
        "max_receives": st.sampled_from([0, 0, 2]),
        "retention_s": st.sampled_from([None, None, RETENTION_S]),
    }
)

# Application, batch and partition; the last batches of an application make it forget the first.
PUBLICATIONS = st.tuples(
    st.sampled_from("pq"), st.sampled_from([0, 0, 1, 1, 99, 100, 101, 250]), st.sampled_from([0, 1])
)
# More than a history can stage.
ALL_CHUNKS = 1_000
ATTEMPTS = st.sampled_from("xy")
SIZES = st.fixed_dictionaries({attempt: st.lists(st.integers(0, 3), max_size=3) for attempt in "xy"})
PARTLY: st.SearchStrategy[Partly] = st.sampled_from(["refuse", "match", "match", "skip", "again"])


class StoreMachine(RuleBasedStateMachine):
    """Four queues, their models, and all handles that were ever given out."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="rockdove-")
        self.bench = Bench(self.kind, Path(self._folder.name))
        self.queues = [self.bench.queue(fifo) for fifo in FIFO]
        self.models = [Model(fifo) for fifo in FIFO]
        self.handles: list[tuple[int, Entry]] = []
        self.fresh: list[tuple[int, Entry]] = []
        self.dead: list[tuple[int, Entry]] = []
        self.sent = 0
        # Leases by queue, shard and sequence, and through which sequence those of each shard have ended.
        self.leases: dict[tuple[int, int, int], list[int]] = {}
        self.ended: dict[tuple[int, int], int] = {}
        # Where the consumer has leased at some time: of one that never did, nothing is remembered.
        self.known: set[int] = set()
        self.publications = PublicationModel()

    def teardown(self) -> None:
        self.bench.close()
        self._folder.cleanup()

    @property
    def now_us(self) -> int:
        return self.bench.now_us

    @initialize(at=st.sampled_from([0, 1]), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def begin(self, at: int, sizes: list[int]) -> None:
        """Hypothesis leaves out some rules in each history; without any message the others would have nothing to do."""
        for place, size in enumerate(sizes):
            self._append(at, self._drafts(at, size, group="ab"[place % 2]))

    @rule(at=QUEUES, number=st.integers(1, 5), group=st.none() | GROUPS, delay_s=st.sampled_from([0, 0, 1, 10, 30]))
    def send(self, at: int, number: int, group: str | None, delay_s: int) -> None:
        if FIFO[at]:
            self._append(at, self._drafts(at, number, group=group or "a"))
        else:
            self._append(at, self._drafts(at, number, group=group, delay_s=delay_s))

    @rule(at=st.sampled_from([1, 3]), group=GROUPS, keys=st.lists(st.sampled_from("kl"), min_size=1, max_size=3))
    def send_once(self, at: int, group: str, keys: list[str]) -> None:
        self._append(at, [draft for key in keys for draft in self._drafts(at, 1, group=group, key=key)])

    def _drafts(self, at: int, number: int, **options: Any) -> list[Draft]:
        self.sent += number
        return [self.queues[at].draft(f"{self.sent - number + place}", **options) for place in range(number)]

    def _append(self, at: int, drafts: list[Draft]) -> None:
        self.models[at].append(drafts, self.queues[at].append(drafts), self.now_us)

    @precondition(lambda self: self.claimable())
    @rule(data=st.data(), want=WANTS)
    def receive(self, data: st.DataObject, want: dict[str, Any]) -> None:
        self._claim(data.draw(st.sampled_from(self.claimable())), **want)

    @rule(at=QUEUES, want=WANTS)
    def receive_blindly(self, at: int, want: dict[str, Any]) -> None:
        self._claim(at, **want)

    @rule(at=st.sampled_from([1, 1, 3]), attempt=st.sampled_from("xy"), want=WANTS)
    def receive_attempt(self, at: int, attempt: str, want: dict[str, Any]) -> None:
        self._claim(at, attempt=attempt, **want)

    @rule(at=QUEUES, seconds=SMALL_STEPS_S)
    def redeliver(self, at: int, seconds: float) -> None:
        """What was taken with this timeout comes back just then."""
        self._claim(at, timeout_s=seconds)
        self.bench.advance(seconds)
        self._claim(at)

    @rule()
    def rest(self) -> None:
        """As after many batches: what is empty is let go."""
        if isinstance(self.bench.inner, SqliteStore):
            self.bench.inner._shelves.weigh()

    def claimable(self) -> list[int]:
        return [at for at, model in enumerate(self.models) if model.claimable(self.now_us)]

    def _claim(self, at: int, **options: Any) -> None:
        queue = self.queues[at]
        want = queue.want(**options)
        claimed = self.bench.do(queue.physical().claim, want)
        left = {entry.id for entry in queue.peek(10_000)}
        self.models[at].claim(want, claimed, left, self.now_us)
        given = [(at, entry) for entry in claimed.entries]
        self.handles += given
        self.fresh += given
        self.dead += [(at, entry) for entry in claimed.dead]

    @precondition(lambda self: self.bench.store.leases is not None)
    @rule(at=QUEUES, shard=SHARDS, sequence=SEQUENCES, want=LEASE_WANTS, even_empty=st.booleans())
    def lease(self, at: int, shard: int, sequence: int, want: dict[str, Any], even_empty: bool) -> None:
        queue, model, key = self.queues[at], self.models[at], (at, shard, sequence)
        leased = queue.lease(sequence, shard=shard, even_empty=even_empty, **want)
        if self._has_ended(key):
            assert leased.outcome is Outcome.ENDED
        elif key in self.leases:
            self._check_lease(key, leased)
        else:
            left = {entry.id for entry in queue.peek(10_000)}
            (claimed,) = [claimed for _, claimed in leased.claims]
            model.lease(queue.want(**want), claimed, left, self.now_us)
            assert leased.entries == claimed.entries
            self.dead += [(at, entry) for entry in claimed.dead]
            made = bool(claimed.entries) or (even_empty and not claimed.dead)
            assert leased.outcome is (Outcome.MADE if made else Outcome.NOTHING)
            if made:
                self.known.add(at)
                self.leases[key] = [entry.id for entry in claimed.entries]

    def _has_ended(self, key: tuple[int, int, int]) -> bool:
        at, shard, sequence = key
        return sequence <= max(self.ended.get((at, shard), -1), self.ended.get((at, ALL_SHARDS), -1))

    def _check_lease(self, key: tuple[int, int, int], leased: Leased) -> None:
        """The same as ever, but for what was deleted otherwise."""
        assert leased.outcome is Outcome.AGAIN
        kept = [item for id in self.leases[key] if (item := self.models[key[0]].find(id)) is not None]
        assert [state_of(entry, entry.visible_us) for entry in leased.entries] == [item.fields() for item in kept]

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def lease_again(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.leases)))
        self._check_lease(key, self.queues[key[0]].lease(key[2], shard=key[1]))

    @precondition(lambda self: self.bench.store.leases is not None)
    @rule(at=QUEUES, shard=st.none() | SHARDS, sequence=st.none() | SEQUENCES)
    def acknowledge(self, at: int, shard: int | None, sequence: int | None) -> None:
        leases, ids = self._end(at, shard, sequence)
        gone = sorted(id for id in ids if self.models[at].remove(id, None, self.now_us))
        assert self.queues[at].ack(sequence, shard) == (leases, len(gone), gone)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(sorted(self.leases)))[0]
        leases, ids = self._end(at, None, None)
        number = self.models[at].unlease(ids, self.now_us)
        assert self.queues[at].give_back() == (leases, number)

    def _end(self, at: int, shard: int | None, sequence: int | None) -> tuple[int, list[int]]:
        over = [
            key
            for key in self.leases
            if key[0] == at and shard in (None, key[1]) and (sequence is None or key[2] <= sequence)
        ]
        last = sequence if sequence is not None else max((key[2] for key in over), default=None)
        if last is not None and at in self.known:
            place = (at, ALL_SHARDS if shard is None else shard)
            self.ended[place] = max(last, self.ended.get(place, -1))
        return len(over), [id for key in over for id in self.leases.pop(key)]

    @precondition(lambda self: self.bench.store.publications is not None)
    @rule(at=QUEUES, of=PUBLICATIONS, attempt=ATTEMPTS, chunk=st.integers(0, 2), number=st.integers(0, 3))
    def stage(self, at: int, of: tuple[str, int, int], attempt: str, chunk: int, number: int) -> None:
        self._stage(at, PublicationName(self.queues[at].record.uid, *of), attempt, chunk, number)

    @precondition(lambda self: self.bench.store.publications is not None)
    @rule(at=QUEUES, of=PUBLICATIONS, sizes=SIZES, order=st.permutations("xy"), partly=PARTLY, wrong=st.integers(0, 4))
    def publish_whole(
        self,
        at: int,
        of: tuple[str, int, int],
        sizes: dict[str, list[int]],
        order: list[str],
        partly: Partly,
        wrong: int,
    ) -> None:
        """Stage what is missing of one attempt or two, and publish them; one in five times with a wrong number."""
        name, model = self._whole(at, of), self.publications
        attempts = order[: 1 + of[2]]
        for attempt in attempts:
            for chunk, number in enumerate(sizes[attempt]):
                self._stage(at, name, attempt, chunk, number)
        winners = [
            Winner(attempt, len(model.chunks(name, attempt)) + (wrong == 4), partition)
            for partition, attempt in enumerate(attempts)
        ]
        call = self.bench.publications.commit
        told: Decision = self.bench.do(call, name, winners, partly, self.queues[at].physical())
        assert told == model.commit(name, winners, partly, self.now_us)

    def _whole(self, at: int, of: tuple[str, int, int]) -> PublicationName:
        return PublicationName(self.queues[at].record.uid, *of[:2], WHOLE)

    @precondition(lambda self: self.bench.store.publications is not None)
    @rule(at=QUEUES, of=PUBLICATIONS, attempt=ATTEMPTS)
    def discard(self, at: int, of: tuple[str, int, int], attempt: str) -> None:
        name, model = self._whole(at, of), self.publications
        self.bench.do(self.bench.publications.discard, name, attempt)
        model.staged.get(name, {}).pop(attempt, None)

    @precondition(lambda self: self.publications.landing)
    @rule(steps=st.sampled_from([1, 2, ALL_CHUNKS]))
    def land(self, steps: int) -> None:
        landings, last = self.bench.landings, None
        for _ in range(steps):
            landing: Landing | None = self.bench.do(landings.next, last)
            if landing is None:
                break
            self._land(landing)
            last = landing.name
        assert steps < ALL_CHUNKS or not self.publications.landing

    def _land(self, landing: Landing) -> None:
        name, model = landing.name, self.publications
        published_us, chunks = model.landing[name]
        assert (landing.at_us, landing.parcels) == (published_us, chunks[0])
        at = next(at for at, queue in enumerate(self.queues) if queue.record.uid == name.queue)
        at_us = self.now_us if FIFO[at] else published_us
        drafts = [Draft(parcel.message(at_us), at_us + self._delay_us(at, parcel)) for parcel in landing.parcels]
        record = self.queues[at].record
        place = self.bench.inner.physical(record, record.physical[0])
        appended = self.bench.do(self.bench.landings.land, landing, drafts, [(place, list(range(len(drafts))))])
        self.models[at].append(drafts, appended, self.now_us)
        chunks.pop(0)
        if not chunks:
            del model.landing[name]

    def _stage(self, at: int, name: PublicationName, attempt: str, chunk: int, number: int) -> None:
        model = self.publications
        parcels = self._parcels(at, number)
        model.stage(name, attempt, chunk, parcels)
        call = self.bench.publications.stage
        told = self.bench.do(call, name, attempt, chunk, parcels, parcel_bytes(parcels))
        assert told == model.standing(name, attempt)

    def _parcels(self, at: int, number: int) -> list[Parcel]:
        drafts = self._drafts(at, number, group="a" if FIFO[at] else None)
        return [
            Parcel(draft.message.text, draft.message.md5, draft.visible_us - self.now_us, draft.message.extra)
            for draft in drafts
        ]

    def _delay_us(self, at: int, parcel: Parcel) -> int:
        """On FIFO queues the delay is the queue's, and may have changed since the parcel was staged."""
        return self.queues[at].delay_us if FIFO[at] else parcel.delay_us

    @precondition(lambda self: self.bench.store.publications is not None)
    @rule(at=QUEUES, of=PUBLICATIONS, attempt=ATTEMPTS, number=st.integers(0, 3))
    def publish(self, at: int, of: tuple[str, int, int], attempt: str, number: int) -> None:
        """All that the attempt has staged, and some more."""
        name, model = PublicationName(self.queues[at].record.uid, *of), self.publications
        self._check_publication(name, attempt)
        parcels = [parcel for _, chunk in sorted(model.chunks(name, attempt).items()) for parcel in chunk]
        parcels += self._parcels(at, number)
        drafts = [Draft(parcel.message(self.now_us), self.now_us + self._delay_us(at, parcel)) for parcel in parcels]
        call = self.bench.publications.publish
        told: Published = self.bench.do(call, name, attempt, [(self.queues[at].physical(), drafts)])
        if model.is_open(name):
            assert told.appended is not None
            self.models[at].append(drafts, told.appended[0], self.now_us)
            model.publish(name, attempt, len(drafts))
        else:
            assert told.appended is None
        assert told.standing == model.standing(name, attempt)

    def _check_publication(self, name: PublicationName, attempt: str) -> None:
        store, model = self.bench.publications, self.publications
        assert self.bench.do(store.look, name, attempt) == model.standing(name, attempt)
        if name not in model.landing:
            assert self.bench.do(store.chunks, name, attempt) == model.chunks(name, attempt)

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        at, entry = data.draw(st.sampled_from(self.handles))
        count = entry.receive_count if FIFO[at] else None
        assert self.queues[at].remove(entry.id, count) == self.models[at].remove(entry.id, count, self.now_us)

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def delete_newest(self, data: st.DataObject) -> None:
        """Deletes that succeed are what empties groups and queues."""
        for at, entry in self.handles[-data.draw(st.integers(1, 4)) :]:
            count = entry.receive_count if FIFO[at] else None
            assert self.queues[at].remove(entry.id, count) == self.models[at].remove(entry.id, count, self.now_us)

    @precondition(lambda self: self.handles)
    @rule(data=st.data(), seconds=st.sampled_from([-1, 0, 0, 1, 10, 60]), newest=st.booleans())
    def change_visibility(self, data: st.DataObject, seconds: int, newest: bool) -> None:
        at, entry = data.draw(st.sampled_from(self.handles[-4:] if newest else self.handles))
        count = entry.receive_count if FIFO[at] else None
        expected = self.models[at].move(entry.id, self.now_us + us(seconds), count, self.now_us)
        assert self.queues[at].move(entry, seconds, count) == expected

    @precondition(lambda self: self.fresh)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """Only a claim whose time is not over, under the delay of its time: a front-end gives back at once."""
        at, _ = data.draw(st.sampled_from(self.fresh[-4:]))
        entries = [entry for of, entry in self.fresh[-4:] if of == at and entry.visible_us > self.now_us]
        self.models[at].release(entries, self.now_us)
        self.queues[at].release(*entries)

    @rule(seconds=SMALL_STEPS_S)
    def pass_time(self, seconds: float) -> None:
        self.bench.advance(seconds)

    @rule(at=QUEUES)
    def expire(self, at: int) -> None:
        removed = 0
        while number := self.queues[at].expire(RETENTION_S):
            removed += number
        assert removed == self.models[at].expire(self.now_us - us(RETENTION_S))

    @precondition(lambda self: self.dead)
    @rule()
    def transfer(self) -> None:
        """All that is dead goes to its dead-letter queue; what was deleted or moved meanwhile does not."""
        for source, target in ((0, 2), (1, 3)):
            dead = {entry.id: entry for at, entry in self.dead if at == source}
            self._transfer(source, target, list(dead.values()))
        self.dead = []

    def _transfer(self, source: int, target: int, dead: list[Entry]) -> None:
        drafts = [self._moved(target, entry) for entry in dead]
        physical = self.queues[source].physical(), self.queues[target].physical()
        ids = [entry.id for entry in dead]
        moved: list[Appended] = self.bench.do(self.bench.transfers.transfer, physical[0], ids, physical[1], drafts)
        there = [
            draft for id, draft in zip(ids, drafts, strict=True) if self.models[source].remove(id, None, self.now_us)
        ]
        self.models[target].append(there, moved, self.now_us)

    def _moved(self, target: int, entry: Entry) -> Draft:
        """As in SQS: on a standard queue a message keeps its age, on a FIFO queue it is as if sent anew."""
        sent_us = self.now_us if FIFO[target] else entry.message.sent_us
        moved = message(entry.message.text, sent_us, extra=entry.message.extra)
        return Draft(moved, self.now_us + self.queues[target].delay_us)

    @rule(data=st.data(), at=QUEUES, kind=st.sampled_from(["time", "time", "delay", "purge", "reopen", "crash"]))
    def upheaval(self, data: st.DataObject, at: int, kind: str) -> None:
        """What changes much; one rule, so that it comes seldom."""
        if kind == "time":
            self.bench.advance(data.draw(LARGE_STEPS_S))
        elif kind == "delay":
            self._set_delay(data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([0, 0, 5, 20])))
        elif kind == "purge":
            self.queues[at].purge()
            self.models[at].purge()
            self.publications.purge(self.queues[at].record.uid)
            self.handles = [(of, entry) for of, entry in self.handles if of != at]
            self.leases = {key: [] if key[0] == at else ids for key, ids in self.leases.items()}
            self.fresh = []
        elif kind == "crash" and self.bench.durable:
            self.bench.crash()
            self._check_records()
        else:
            self.bench.reopen()
            self._check_records()

    def _set_delay(self, at: int, seconds: int) -> None:
        self.queues[at].set_delay(seconds)
        self.models[at].retime(us(seconds))
        self.fresh = []

    def _check_records(self) -> None:
        queues = sorted(self.bench.snapshot.queues, key=lambda queue: queue.uid)
        assert queues == [queue.record for queue in self.queues]
        for key in self.leases:
            self._check_lease(key, self.queues[key[0]].lease(key[2], shard=key[1]))
        for name in (*self.publications.published, *self.publications.staged):
            self._check_publication(name, "x")

    @invariant()
    def counts_are_exact(self) -> None:
        for queue, model in zip(self.queues, self.models, strict=True):
            visible, in_flight, delayed = model.counts(self.now_us)
            unlanded = self.publications.unlanded(queue.record.uid)
            assert queue.count() == (visible + unlanded, in_flight, delayed)

    @invariant()
    def entries_are_as_they_should_be(self) -> None:
        for queue, model in zip(self.queues, self.models, strict=True):
            check_entries(queue, model, self.now_us)

    @invariant()
    def bounds_hold(self) -> None:
        for queue, model in zip(self.queues, self.models, strict=True):
            in_flight = model.counts(self.now_us)[1]
            if in_flight:
                assert queue.is_crowded(in_flight)
            hint, true_us = queue.hint(), model.next_us(self.now_us)
            assert true_us is None or (hint.next_us is not None and hint.next_us <= true_us)
            assert hint.may_hold_any or not sum(model.counts(self.now_us))
            if model.claimable(self.now_us):
                assert hint.may_have_visible(self.now_us)


class MemoryMachine(StoreMachine):
    kind = "memory"


class SqliteMachine(StoreMachine):
    kind = "sqlite"


class RemoteMachine(StoreMachine):
    kind = "remote"


class RedisMachine(StoreMachine):
    kind = "redis"


def _settings(examples: int) -> settings:
    return settings(
        max_examples=int(EXAMPLES or examples),
        stateful_step_count=50,
        derandomize=EXAMPLES is None,
        database=None,
        phases=[Phase.generate, *([Phase.shrink] if SHRINK else [])],
        deadline=None,
        # Time goes into fsync, not into data generation.
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# How many histories each kind of store has. On Cassandra ids do not grow from index to journal, as the model has it.
_MACHINES: dict[str, tuple[type[StoreMachine], int]] = {
    "memory": (MemoryMachine, 60),
    "sqlite": (SqliteMachine, 25),
    "remote": (RemoteMachine, 25),
    "redis": (RedisMachine, 25),
}

for _kind in filter(_MACHINES.get, STORES):
    _machine, _examples = _MACHINES[_kind]
    _machine.TestCase.settings = _settings(_examples)
    globals()[f"Test{_kind.capitalize()}"] = _machine.TestCase
