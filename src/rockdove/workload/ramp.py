"""Production that rises and falls, against an elastic queue whose controller and workers are killed now and then."""

import asyncio
import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault
from rockdove.workload.error import Trouble, WorkloadFailed, trouble_of
from rockdove.workload.handled import OUT, RANDOM, WORK_S

_HANDLER = "rockdove.workload.handled:handle"
_TICK_S = 0.05
# If messages come at random moments, these are not to be those of ticks.
_RANDOM_TICK_S = 0.01
_LOOK_S = 1.0
# Messages of a request.
_BATCH = 10


class Ramping(Struct, frozen=True, kw_only=True):
    """``work_s``: of a message. ``startup_s``: of a machine. ``kills``: whether workers and controllers are killed.

    ``points``: seconds, and rates then, in place of a ramp up and down; between them the rate changes evenly.
    ``random``: messages come at random moments, and the work takes an exponential time.
    """

    policy: str
    peak: float = 150.0
    rise_s: float = 40.0
    top_s: float = 30.0
    work_s: float = 0.02
    min_load: float = 10.0
    max_load: float = 60.0
    max_workers: int = 6
    slots: int = 2
    pool: int = 1
    startup_s: float = 4.0
    period_s: float = 1.0
    safety_s: float = 3.0
    drain_s: float = 120.0
    kills: bool = True
    seed: int = 0
    points: tuple[tuple[float, float], ...] = ()
    random: bool = False

    @property
    def shape(self) -> Sequence[tuple[float, float]]:
        top_s, fall_s = self.rise_s, self.rise_s + self.top_s
        return self.points or ((0.0, 0.0), (top_s, self.peak), (fall_s, self.peak), (self.duration_s, 0.0))

    def rate(self, time_s: float) -> float:
        shape = self.shape
        if time_s <= shape[0][0]:
            return shape[0][1]
        for (from_s, before), (to_s, after) in itertools.pairwise(shape):
            if time_s < to_s:
                return before + (after - before) * (time_s - from_s) / (to_s - from_s)
        return shape[-1][1]

    @property
    def duration_s(self) -> float:
        return self.points[-1][0] if self.points else 2 * self.rise_s + self.top_s

    @property
    def elastic(self) -> str:
        """`RockdoveElastic`."""
        document = {
            "periodS": self.period_s,
            "minLoad": self.min_load,
            "maxLoad": self.max_load,
            "maxWorkers": self.max_workers,
            "slots": self.slots,
            "pool": self.pool,
            "safetyS": self.safety_s,
            "policy": self.policy,
        }
        return msgspec.json.encode(document).decode()


class Sampled(Struct, frozen=True):
    """Second by second, from the service. Loads are messages that wait in a physical queue."""

    t: float
    production: float
    max_load: int
    workers: int
    machines: int


class Decision(Struct, frozen=True):
    """``at``: seconds since 1970."""

    at: float
    act: str
    reason: str


class Ramped(Struct, frozen=True, kw_only=True):
    """What came of it. ``began``: when the first sample's second began, since 1970. ``above_s``: the longest time for
    which the greatest load was above maxLoad. ``watched``: rounds in which the controller went by a watch.
    """

    began: float

    sent: int
    handled: int
    lost: int
    duplicates: int
    workers_killed: int
    controllers_killed: int
    workers_max: int
    machines_max: int
    above_s: float
    max_load: int
    decisions: list[Decision]
    samples: list[Sampled]
    watched: int


# Is shown what is seen each second, and what the controller has published last.
See = Callable[[Sampled, dict[str, Any]], None]


class Ramp:
    """One run against a service, with a folder for all that the workers leave.

    ``watch``: the folder of a watch for the controller to go by. Until all that belongs to it ``is_ready``, production
    stays as it is in the beginning. ``see`` may raise what ends the run.
    """

    def __init__(
        self,
        endpoint: str,
        queue: str,
        folder: Path,
        ramping: Ramping,
        *,
        watch: Path | None = None,
        is_ready: Callable[[], bool] = lambda: True,
        see: See = lambda sampled, published: None,
    ) -> None:
        self._endpoint = endpoint
        self._queue = queue
        self._folder = folder
        self._ramping = ramping
        self._watch = watch
        self._is_ready = is_ready
        self._see = see
        self._rng = Random(ramping.seed)
        self._controller: subprocess.Popen[bytes] | None = None
        self._rounds = folder / "rounds.json"
        self._acknowledged: list[str] = []
        self._samples: list[Sampled] = []
        self._began_s = 0.0
        self._began = asyncio.Event()
        self._killed: Counter[str] = Counter()

    async def run(self) -> Ramped:
        """Raises `WorkloadFailed`."""
        self._folder.mkdir(parents=True)
        try:
            async with AsyncClient(self._endpoint) as client:
                await client.create_queue(self._queue, attributes={"RockdoveElastic": self._ramping.elastic})
                return await self._run(client)
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            raise WorkloadFailed(trouble_of(error, self._endpoint)) from error
        finally:
            self._end()

    async def _run(self, client: AsyncClient) -> Ramped:
        self._start()
        while not any(each["state"] == "up" for each in self._last().get("workers", [])):
            self._see_controller()
            await asyncio.sleep(0.1)
        sampling = asyncio.ensure_future(self._sample(client))
        killing = asyncio.ensure_future(self._kill())
        try:
            await self._or(sampling, self._load(client))
        finally:
            for task in (sampling, killing):
                task.cancel()
            await asyncio.gather(sampling, killing, return_exceptions=True)
        # What has been handled is deleted by now: workers that end finish it.
        self._stop()
        return self._outcome()

    async def _load(self, client: AsyncClient) -> None:
        await self._produce(client)
        await self._drained(client)
        await asyncio.sleep(_LOOK_S)

    @staticmethod
    async def _or(sampling: "asyncio.Future[None]", work: Coroutine[Any, Any, None]) -> None:
        """What goes wrong in sampling ends the work."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task, sampling), return_when=asyncio.FIRST_COMPLETED)
            if sampling.done():
                sampling.result()
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    # The controller and its workers.

    def _start(self) -> None:
        words = ["autoscale", self._queue, "--handler", _HANDLER, "--endpoint", self._endpoint, "--json", "--drain"]
        words += ["--folder", str(self._folder / "workers"), "--startup", f"{self._ramping.startup_s:g}"]
        words += ["--visibility", "5"]
        if self._watch is not None:
            words += ["--watch", str(self._watch)]
        told = {OUT: str(self._folder / "handled"), WORK_S: f"{self._ramping.work_s:g}"}
        told |= {RANDOM: "yes"} if self._ramping.random else {}
        with self._rounds.open("ab") as rounds, (self._folder / "controller.log").open("ab") as log:
            self._controller = subprocess.Popen(
                [sys.executable, "-m", "rockdove", *words],
                stdin=subprocess.DEVNULL,
                stdout=rounds,
                stderr=log,
                env={**os.environ, **told},
            )

    def _see_controller(self) -> None:
        if self._controller is not None and self._controller.poll() is not None:
            said = (self._folder / "controller.log").read_text(errors="replace")[-2000:]
            raise WorkloadFailed(Trouble("failed", f"the controller ended:\n{said}"))

    def _stop(self) -> None:
        """The controller drains its workers, and ends."""
        if self._controller is not None:
            self._controller.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._controller.wait(60)

    def _end(self) -> None:
        """Nothing is left, whatever has happened."""
        if self._controller is not None and self._controller.poll() is None:
            self._controller.kill()
            self._controller.wait()
        # One that the controller was just starting appears after it has been killed, and a process that is killed takes
        # a moment to go.
        while workers := self._all_workers():
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _all_workers(self) -> list[int]:
        """Also those that have not reported yet: their command lines name the folder. Until it runs its own program, a
        process that was just started has the command line of its controller, which names the folder, too.
        """
        found = []
        place = re.compile(rb"--(report|folder)\0" + re.escape(os.fsencode(self._folder / "workers")) + rb"[/\0]")
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if place.search(path.read_bytes()):
                    found.append(int(path.parent.name))
        return found

    def _workers(self) -> list[int]:
        """Process ids of those that live."""
        found = []
        for path in (self._folder / "workers").glob("*-*.json"):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                pid = msgspec.json.decode(path.read_bytes())["pid"]
                if Path(f"/proc/{pid}").exists():
                    found.append(pid)
        return found

    async def _kill(self) -> None:
        """A worker while production rises, the controller at the top, both while it falls."""
        if not self._ramping.kills:
            return
        await self._began.wait()
        rise_s, top_s = self._ramping.rise_s, self._ramping.top_s
        for at_s, whom in (
            (0.7 * rise_s, "worker"),
            (rise_s + 0.3 * top_s, "controller"),
            (rise_s + 0.7 * top_s, "worker"),
            (rise_s + top_s + 0.3 * rise_s, "controller"),
        ):
            await asyncio.sleep(max(self._began_s + at_s - time.monotonic(), 0))
            if whom == "controller" and self._controller is not None:
                self._controller.kill()
                self._controller.wait()
                self._start()
            elif workers := self._workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._rng.choice(workers), signal.SIGKILL)
            self._killed[whom] += 1

    # Messages.

    async def _produce(self, client: AsyncClient) -> None:
        sent, due = itertools.count(), 0.0
        random, rng = self._ramping.random, self._rng
        # With random moments, times between messages are exponential at any rate: due is counted in these.
        one = rng.expovariate(1) if random else 1.0
        last_s = self._begin() or time.monotonic()
        sending: set[asyncio.Future[None]] = set()
        try:
            while (now_s := time.monotonic()) - (self._begin() or now_s) < self._ramping.duration_s:
                at_s = (now_s + last_s) / 2 - self._began_s if self._began.is_set() else 0.0
                due += self._ramping.rate(at_s) * (now_s - last_s)
                last_s, number = now_s, 0
                while due >= one:
                    due, number = due - one, number + 1
                    one = rng.expovariate(1) if random else 1.0
                for at in range(0, number, _BATCH):
                    bodies = [f"{next(sent)}" for _ in range(min(number - at, _BATCH))]
                    sending.add(asyncio.ensure_future(self._send(client, bodies)))
                for task in [task for task in sending if task.done()]:
                    sending.discard(task)
                    task.result()
                self._see_controller()
                await asyncio.sleep(_RANDOM_TICK_S if random else _TICK_S)
            await asyncio.gather(*sending)
        finally:
            # If it ends early, nobody waits for their answers.
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)

    def _begin(self) -> float | None:
        """When it began; None while not all is ready."""
        if not self._began.is_set() and self._is_ready():
            self._began_s = time.monotonic()
            self._began.set()
        return self._began_s if self._began.is_set() else None

    async def _send(self, client: AsyncClient, bodies: list[str]) -> None:
        result = await client.send_batch(self._queue, bodies)
        self._acknowledged += [bodies[int(each.id)] for each in result.successful if each.id.isdecimal()]

    async def _drained(self, client: AsyncClient) -> None:
        end_s = time.monotonic() + self._ramping.drain_s
        while time.monotonic() < end_s:
            told = await client.attributes(self._queue, ["All"])
            if not any(int(told[f"ApproximateNumberOfMessages{what}"]) for what in ("", "NotVisible", "Delayed")):
                return
            await asyncio.sleep(0.2)

    # What is seen.

    async def _sample(self, client: AsyncClient) -> None:
        """Before it begins, ``t`` is 0, and samples are shown only."""
        at, before, last_s = 0, 0, time.monotonic()
        while True:
            at = at + 1 if self._began.is_set() else 0
            until_s = self._began_s + at * _LOOK_S if at else last_s + _LOOK_S
            await asyncio.sleep(max(until_s - time.monotonic(), 0))
            parts = await client.physical_queues(self._queue)
            last, now_s, sent = self._last(), time.monotonic(), len(self._acknowledged)
            sampled = Sampled(
                t=at * _LOOK_S,
                production=(sent - before) / max(now_s - last_s, 0.1),
                max_load=max(each.approximate_number_of_messages or 0 for each in parts),
                workers=sum(each["state"] == "up" for each in last.get("workers", [])),
                machines=last.get("machines", 0),
            )
            before, last_s = sent, now_s
            if at:
                self._samples.append(sampled)
            self._see(sampled, last)

    def _last(self) -> dict[str, Any]:
        """What the controller has published last."""
        with contextlib.suppress(OSError, msgspec.MsgspecError, IndexError), self._rounds.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - (1 << 17), 0))
            found: dict[str, Any] = msgspec.json.decode(file.read().rstrip(b"\n").rpartition(b"\n")[2])
            return found
        return {}

    def _told(self) -> list[dict[str, Any]]:
        """What the controllers have published, round by round."""
        found = []
        for line in self._rounds.read_bytes().splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line))
        return found

    def _decisions(self) -> list[Decision]:
        """All of them, each once, though each round tells the last fifty."""
        found: dict[tuple[float, str, int | None], str] = {}
        for round_ in self._told():
            for each in round_["decisions"]:
                found[each["at"], each["reason"], each.get("number")] = each["act"]
        return [Decision(at, act, reason) for (at, reason, _), act in found.items()]

    def _outcome(self) -> Ramped:
        handled = Counter((self._folder / "handled").read_text().split())
        return Ramped(
            began=time.time() - (time.monotonic() - self._began_s),
            sent=len(self._acknowledged),
            handled=len(handled),
            lost=len(set(self._acknowledged) - set(handled)),
            duplicates=sum(handled.values()) - len(handled),
            workers_killed=self._killed["worker"],
            controllers_killed=self._killed["controller"],
            workers_max=max(each.workers for each in self._samples),
            machines_max=max(each.machines for each in self._samples),
            above_s=_longest(self._samples, self._ramping.max_load) * _LOOK_S,
            max_load=max(each.max_load for each in self._samples),
            decisions=self._decisions(),
            samples=self._samples,
            watched=sum(bool(round_.get("watched")) for round_ in self._told()),
        )


def _longest(samples: list[Sampled], max_load: float) -> int:
    """Samples in a row above maxLoad, at most."""
    runs = itertools.groupby(samples, lambda each: each.max_load > max_load)
    return max((len(list(some)) for is_above, some in runs if is_above), default=0)
