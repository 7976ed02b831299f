"""What all rules have in common: one round, in which workers are added or the last one goes, bit by bit."""

from msgspec.structs import replace

from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.removal import elect, go_on
from rockdove.capacity.scaling.share import shares
from rockdove.capacity.scaling.step import Act, Decision, State, Step
from rockdove.core.elastic import Elastic


class Round:
    """Collects what is decided; nothing is decided against minWorkers and maxWorkers."""

    def __init__(self, elastic: Elastic, state: State, measured: Measured, parts: list[float] | None = None) -> None:
        self._elastic = elastic
        self._state = state
        self._measured = measured
        self._parts = shares(measured.members) if parts is None else parts
        self._decisions: list[Decision] = []
        self._workers = measured.workers
        self._acted_s = state.acted_s
        # Somebody else may have removed it.
        numbers = {member.number for member in measured.members}
        self.removal = state.removal if state.removal is not None and state.removal.number in numbers else None

    @property
    def has_settled(self) -> bool:
        """What was decided last has had time to take effect."""
        return self._acted_s is None or not 0 <= self._measured.now_s - self._acted_s < self._elastic.safety_s

    @property
    def may_shrink(self) -> bool:
        measured = self._measured
        return measured.workers > self._elastic.min_workers and len(measured.members) > 1 and not measured.starting

    def add(self, workers: int, reason: str) -> None:
        """As many of them as there may be."""
        workers = min(workers, self._elastic.max_workers - self._workers)
        if workers > 0:
            self._decisions.append(Decision(Act.ADD, reason, workers=workers))
            self._workers += workers
            self._acted_s = self._measured.now_s

    def elect(self, reason: str) -> None:
        self.removal, decision = elect(self._measured, self._parts, reason)
        self._decisions.append(decision)

    @property
    def is_too_large(self) -> bool:
        """There are more workers than there may be, whatever the load."""
        return self._workers > self._elastic.max_workers

    def cancel(self, reason: str) -> None:
        if self.removal is not None and not self.is_too_large:
            # What was decided of it in this round is so no more.
            self._decisions = [each for each in self._decisions if each.act not in (Act.REDUCE, Act.DRAIN)]
            self._decisions.append(Decision(Act.CANCEL, f"{reason}: it stays", number=self.removal.number))
            self.removal = None

    def go_on(self) -> None:
        """With the removal that has begun."""
        if self.removal is None:
            return
        self.removal, self._parts, decision = go_on(self._measured, self._parts, self.removal)
        self._decisions.append(decision)
        if self.removal is None:
            self._workers -= 1
            self._acted_s = self._measured.now_s

    def towards(self, wanted: int, least: int, reason: str) -> None:
        """Up to ``wanted`` at once; down, one after another, to ``least``."""
        if wanted > self._workers and not self.is_too_large:
            self.cancel(reason)
            self.add(wanted - self._workers, reason)
        elif self.removal is not None and least >= self._workers and not self.is_too_large:
            self.cancel(reason)
        elif self.removal is not None:
            self.go_on()
        elif least < self._workers and self.may_shrink and self.has_settled:
            self.elect(reason)

    def step(self, state: State | None = None) -> Step:
        """``state``: of the rule itself."""
        elastic = self._elastic
        has_removed = any(decision.act is Act.REMOVE for decision in self._decisions)
        if self._workers <= elastic.min_workers and not has_removed:
            reason = f"there are to be at least {elastic.min_workers}"
            self.cancel(reason)
            if self._workers < elastic.min_workers:
                self.add(elastic.min_workers - self._workers, reason)
        elif self.is_too_large and self.removal is None and self.may_shrink and not has_removed:
            self.elect(f"there are to be at most {elastic.max_workers}")
        state = replace(state or State(), removal=self.removal, acted_s=self._acted_s)
        return Step(state, tuple(self._parts), tuple(self._decisions), self._workers)
