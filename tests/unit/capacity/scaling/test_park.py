"""Workers on machines."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from rockdove.capacity.scaling.park import Park, Placing


def test_slots_are_filled_first() -> None:
    park = Park(slots=2, pool=0)
    assert park.begin() == []
    assert park.add(0) == [0]
    assert park.place() == []
    park.ready(0)
    assert park.place() == [(0, 0)]
    assert park.has_room
    assert park.add(1) == []
    assert park.place() == [(1, 0)]
    assert not park.has_room
    assert park.add(2) == [1]


def test_for_performance_each_has_a_machine() -> None:
    park = Park(slots=2, pool=0, placing=Placing.PERFORMANCE)
    assert park.add(0) == [0]
    assert park.add(1) == [1]


def test_a_machine_of_the_pool_is_replaced_when_it_is_used() -> None:
    park = Park(slots=1, pool=1)
    assert park.begin() == [0]
    park.ready(0)
    assert park.add(0) == [1]
    assert park.place() == [(0, 0)]
    # The next one waits for the replacement, and another is started for the pool.
    assert park.add(1) == [2]
    assert park.place() == []
    park.ready(1)
    assert park.place() == [(1, 1)]


def test_when_a_machine_becomes_empty_the_pool_is_not_larger_than_before() -> None:
    park = Park(slots=1, pool=1)
    for machine in [*park.begin(), *park.add(0)]:
        park.ready(machine)
    assert park.place() == [(0, 0)]
    assert len(park.machines) == 2
    assert park.remove(0) == [1]
    assert list(park.machines) == [0]


def test_one_that_starts_is_ended_before_one_that_is_ready() -> None:
    park = Park(slots=1, pool=1)
    park.begin()
    park.ready(0)
    assert park.add(0) == [1]
    park.place()
    park.ready(1)
    assert park.add(1) == [2]
    park.place()
    assert park.remove(1) == [2]


def test_other_numbers_of_slots_and_machines() -> None:
    park = Park(slots=1, pool=0)
    assert park.begin() == []
    assert park.add(0) == [0]
    park.ready(0)
    park.place()
    assert park.fit(2, 2) == ([1, 2], [])
    assert park.add(1) == []
    # It takes the slot that is there now.
    assert park.place() == [(1, 0)]
    park.ready(1)
    # Nobody moves: what is too full stays so.
    assert park.fit(1, 0) == ([], [2, 1])
    assert park.machines[0].workers == [0, 1]


class Parks(RuleBasedStateMachine):
    """Whatever happens: nobody is forgotten, no machine has too many, and the pool is as large as it should be."""

    workers = Bundle("workers")

    @initialize(slots=st.integers(1, 3), pool=st.integers(0, 3), placing=st.sampled_from(Placing))
    def begin(self, slots: int, pool: int, placing: Placing) -> None:
        self.park = Park(slots, pool, placing)
        self.placing = placing
        self.slots = self.most_slots = slots if placing is Placing.ENERGY else 1
        self.pool = pool
        self.there: set[int] = set()
        self.next = 0
        self.starting = set(self.park.begin())

    @rule(target=workers)
    def add(self) -> int:
        self.starting |= set(self.park.add(self.next))
        self.there.add(self.next)
        self.next += 1
        self.park.place()
        return self.next - 1

    @rule(worker=consumes(workers))
    def remove(self, worker: int) -> None:
        self.starting -= set(self.park.remove(worker))
        self.there.remove(worker)
        self.park.place()

    @rule(data=st.data())
    def ready(self, data: st.DataObject) -> None:
        if self.starting:
            machine = data.draw(st.sampled_from(sorted(self.starting)))
            self.starting.remove(machine)
            self.park.ready(machine)
            self.park.place()

    @rule(slots=st.integers(1, 3), pool=st.integers(0, 3))
    def fit(self, slots: int, pool: int) -> None:
        self.slots = slots if self.placing is Placing.ENERGY else 1
        self.most_slots = max(self.most_slots, self.slots)
        self.pool = pool
        started, ended = self.park.fit(slots, pool)
        self.starting |= set(started)
        self.starting -= set(ended)
        self.park.place()

    @invariant()
    def holds(self) -> None:
        machines = self.park.machines.values()
        placed = [worker for machine in machines for worker in machine.workers]
        assert sorted([*placed, *self.park.waiting]) == sorted(self.there)
        assert all(len(machine.workers) <= self.most_slots for machine in machines)
        assert all(machine.is_ready for machine in machines if machine.workers)
        assert self.starting == {machine.number for machine in machines if not machine.is_ready}
        unused = [machine for machine in machines if not machine.workers]
        free = sum(max(self.slots - len(machine.workers), 0) for machine in machines if machine.workers)
        waiting = max(len(self.park.waiting) - free, 0)
        assert len(unused) == self.pool + -(-waiting // self.slots)
        # Who waits does so for a machine that starts.
        assert not self.park.waiting or not any(machine.is_ready for machine in unused)


Parks.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
test_parks = Parks.TestCase
