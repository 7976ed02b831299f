"""Dequeue policies on real services, one run after another, so that what disturbs one disturbs all."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import uvloop
from msgspec import Struct
from msgspec.structs import replace

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.dequeue import PolicyName
from rockdove.core.errors import Fault
from rockdove.workload.error import WorkloadFailed, trouble_of
from rockdove.workload.local import LocalService, StoreName
from rockdove.workload.polling import Polled, Polling, poll

# The sleep of rds where others are not compared: the paper's best.
SLEEP_S = 0.1


class Trial(Struct, frozen=True, kw_only=True):
    """One run: a policy on a store, at a rate."""

    store: StoreName
    policy: PolicyName
    rate: float
    # Of rds only.
    sleep_s: float | None = None

    def __str__(self) -> str:
        sleep = "" if self.sleep_s is None else f", sleep {self.sleep_s:g} s"
        return f"{self.policy.value} on {self.store}, {self.rate:g} requests/s{sleep}"

    @property
    def attributes(self) -> dict[str, str]:
        """Of its queue."""
        sleep = {} if self.sleep_s is None else {"RockdoveRetrySleepMs": f"{self.sleep_s * 1000:.0f}"}
        return {"RockdoveDequeuePolicy": self.policy.value, **sleep}


class TrialResult(Struct, frozen=True):
    """``queue`` is its name in the trace."""

    trial: Trial
    queue: str
    polled: Polled


def trials(stores: Sequence[StoreName], rates: Sequence[float], sleeps: Sequence[float]) -> Iterator[Trial]:
    """All policies at all rates; at the highest, rds with all sleeps."""
    for rate in rates:
        for policy in PolicyName:
            some: Sequence[float | None] = (None,)
            if policy is PolicyName.RDS:
                some = sleeps if rate == max(rates) else [sleep for sleep in sleeps if sleep == SLEEP_S] or sleeps[:1]
            for sleep_s in some:
                for store in stores:
                    yield Trial(store=store, policy=policy, rate=rate, sleep_s=sleep_s)


class PolicyTrials(Struct, frozen=True, kw_only=True):
    """Services on stores of their own in a folder, each with a trace there; see `trace_of`."""

    folder: Path
    stores: Sequence[StoreName]
    rates: Sequence[float]
    sleeps: Sequence[float]
    physical: int
    servers: int
    workers: int
    polling: Polling

    def trace_of(self, store: StoreName) -> Path:
        return self.folder / store / "trace"

    def run(self, say: Callable[[str], None]) -> list[TrialResult]:
        """Raises `WorkloadFailed`."""
        found: list[TrialResult] = []
        with ExitStack() as stack, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            services = {
                store: stack.enter_context(
                    LocalService(store, self.folder / store, self.servers, self.workers, self.trace_of(store))
                )
                for store in self.stores
            }
            wanted = list(trials(self.stores, self.rates, self.sleeps))
            for number, trial in enumerate(wanted, 1):
                say(f"{number} of {len(wanted)}: {trial}")
                found.append(runner.run(self._run_trial(services[trial.store], trial)))
        return found

    async def _run_trial(self, service: LocalService, trial: Trial) -> TrialResult:
        queue = f"rds-{secrets.token_hex(4)}"
        polling = replace(self.polling, rate=trial.rate)
        try:
            async with AsyncClient(service.endpoint) as client:
                attributes = {"RockdovePhysicalQueues": str(self.physical), **trial.attributes}
                await client.create_queue(queue, attributes=attributes)
                try:
                    return TrialResult(trial, queue, await poll(service.endpoint, queue, polling, service.cpu_s))
                finally:
                    await client.delete_queue(queue)
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            raise WorkloadFailed(trouble_of(error, service.endpoint)) from error
