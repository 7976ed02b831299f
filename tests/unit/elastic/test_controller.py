"""The controller against a real service, with workers in this process and in others."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rockdove.client import AsyncClient, Client
from rockdove.elastic import Handler
from rockdove.elastic.controller import Controller, NotElastic
from rockdove.elastic.measure import Measure
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.provision.process import SILENT_S, ProcessProvisioner, worker_command
from rockdove.elastic.provision.simulated import SimulatedProvisioner
from rockdove.elastic.state import Published, read, write
from rockdove.elastic.worker.report import Report, ReportFile, Taken, lives, words_of
from rockdove.elastic.worker.report import read as read_report
from rockdove.elastic.worker.worker import Manners, Worker

SETTINGS = '{"periodS": 0.2, "minLoad": 2, "maxLoad": 5, "maxWorkers": 3, "safetyS": 0.2}'
QUICK = Manners(visibility_s=30, grace_s=20)


class Bench:
    """Controllers and simulated workers of one queue."""

    def __init__(self, client: AsyncClient, queue: str) -> None:
        self.client = client
        self.queue = queue
        self.got: Counter[str] = Counter()
        self.seen: list[Published] = []
        self.work_s = 0.05
        self.provisioner = SimulatedProvisioner(self._make, startup_s=0)

    def _make(self, number: int) -> Worker:
        async def work(body: str) -> None:
            await asyncio.sleep(self.work_s)
            self.got[body] += 1

        return Worker(self.client, f"{self.queue}~{number}", Handler(work), QUICK)

    def controller(self, name: str = "one") -> Controller:
        def watch(published: Published, paused: bool) -> None:
            self.seen.append(published)

        return Controller(self.client, self.queue, name, self.provisioner, Measure(1), watch)

    async def parts(self) -> list[str]:
        return [each.state for each in await self.client.physical_queues(self.queue)]

    async def send(self, bodies: list[str]) -> None:
        for at in range(0, len(bodies), 10):
            await self.client.send_batch(self.queue, bodies[at : at + 10])


def play(endpoint: str, queue: str, scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def run() -> None:
        async with AsyncClient(endpoint) as client:
            url = await client.queue_url(queue)
            bench = Bench(client, url)
            try:
                await asyncio.wait_for(scenario(bench), 90)
            finally:
                await bench.provisioner.close()

    asyncio.run(run())


async def rounds(controller: Controller, until: Callable[[], Awaitable[bool]]) -> None:
    while not await until():
        await asyncio.sleep(await controller.round())


def test_it_grows_with_the_load_and_shrinks_without(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})
    bodies = [str(at) for at in range(300)]

    async def scenario(bench: Bench) -> None:
        controller = bench.controller()
        sending = asyncio.ensure_future(bench.send(bodies))

        async def done() -> bool:
            return len(bench.got) == len(bodies)

        await rounds(controller, done)
        await sending
        assert max(len(published.workers) for published in bench.seen) == 3

        async def alone() -> bool:
            return await bench.parts() == ["up"]

        await rounds(controller, alone)
        assert bench.got == Counter(bodies)
        assert await bench.provisioner.list() or bench.provisioner.machines
        acts = [each.act.value for each in bench.seen[-1].decisions]
        assert acts.count("add") == acts.count("remove") == 2
        assert acts.index("add") < acts.index("elect") < acts.index("drain") < acts.index("remove")
        # Those of physical queues that have gone end.
        while len(await bench.provisioner.list()) > 1:
            await asyncio.sleep(await controller.round())

    play(endpoint, queue, scenario)


def test_a_new_one_gets_nothing_until_its_worker_is_ready(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})

    async def scenario(bench: Bench) -> None:
        bench.provisioner = SimulatedProvisioner(bench._make, startup_s=0)
        bench.work_s = 5
        controller = bench.controller()
        await controller.round()
        bench.provisioner._startup_s = 1_000
        await bench.send([str(at) for at in range(40)])
        await asyncio.sleep(0.3)
        await controller.round()
        await bench.send([str(at) for at in range(40, 140)])
        loads = [each.approximate_number_of_messages for each in await bench.client.physical_queues(bench.queue)]
        assert len(loads) == 2
        assert loads[1] == 0
        assert bench.seen[-1].decisions[-1].act == "add"
        assert bench.provisioner.start_s == 1_000
        await asyncio.sleep(0.3)
        await controller.round()
        assert [each.state for each in bench.seen[-1].workers] == ["up", "starting"]
        # What has begun is given back at once.
        for worker, _, _ in bench.provisioner._workers.values():
            worker.drain()
            worker.drain()

    play(endpoint, queue, scenario)


def test_a_second_controller_waits_and_goes_on_where_the_first_stopped(
    endpoint: str, client: Client, queue: str
) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS.replace('"safetyS": 0.2', '"safetyS": 3600')})

    async def scenario(bench: Bench) -> None:
        bench.work_s = 0.5
        stopped = asyncio.Event()
        first = asyncio.ensure_future(bench.controller("first").run(stopped))
        await bench.send([str(at) for at in range(30)])
        while not (bench.seen and bench.seen[-1].decisions):
            await asyncio.sleep(0.05)
        second = bench.controller("second")
        assert await second._patiently() == 5
        assert (await bench.client.elastic_state(bench.queue)).holder == "first"
        stopped.set()
        await first
        seen = len(bench.seen)
        # It does not wait for the time to be over, and knows what was decided, and when.
        await second._patiently()
        await second._patiently()
        assert len(bench.seen) > seen
        assert (await bench.client.elastic_state(bench.queue)).holder == "second"
        assert [each.act.value for each in bench.seen[-1].decisions] == ["add"]
        assert len(await bench.parts()) == 2

    play(endpoint, queue, scenario)


def test_one_that_was_overtaken_ends_nobodys_workers(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})

    async def scenario(bench: Bench) -> None:
        first, second = bench.controller("first"), bench.controller("second")
        await first.round()
        # The first stands still for so long that the second takes over.
        await bench.client.put_elastic_state(bench.queue, "first", 0)
        await second.round()
        stopped = asyncio.Event()
        stopped.set()
        await first.run(stopped, drains=True)
        assert [each.is_draining for each in await bench.provisioner.list()] == [False]
        assert (await bench.client.elastic_state(bench.queue)).holder == "second"
        await second.run(stopped, drains=True)
        assert await bench.provisioner.list() == []

    play(endpoint, queue, scenario)


def test_it_drains_the_workers_that_there_were(endpoint: str, client: Client, queue: str) -> None:
    """Those that come later are of the next controller, also if this one stood still meanwhile."""

    class Workers(SimulatedProvisioner):
        there = [Seen(0, "0", "11 1.5", is_ready=True)]
        drained: list[str] = []

        async def list(self) -> "Any":
            return self.there

        async def drain(self, number: int) -> None:
            self.drained.append(self.there[number].life)

    async def scenario(bench: Bench) -> None:
        workers = bench.provisioner = Workers(bench._make)
        draining = asyncio.ensure_future(bench.controller()._drain())
        while not workers.drained:
            await asyncio.sleep(0.01)
        workers.there = [Seen(0, "0", "12 2.5", is_ready=True)]
        await asyncio.wait_for(draining, 30)
        assert set(workers.drained) == {"11 1.5"}

    play(endpoint, queue, scenario)


def test_paused_it_decides_nothing(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})

    async def scenario(bench: Bench) -> None:
        controller = bench.controller()
        await bench.client.set_elastic_control(bench.queue, True)
        await bench.send([str(at) for at in range(30)])
        await controller.round()
        assert await bench.parts() == ["up"]
        assert not bench.seen[-1].decisions
        await bench.client.set_elastic_control(bench.queue, False)

        async def grown() -> bool:
            return len(await bench.parts()) > 1

        await rounds(controller, grown)

    play(endpoint, queue, scenario)


def test_paused_it_still_replaces_who_has_died(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})

    async def scenario(bench: Bench) -> None:
        controller = bench.controller()
        await controller.round()
        await bench.client.set_elastic_control(bench.queue, True)
        worker, task, _ = bench.provisioner._workers[0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while bench.provisioner._workers.get(0, (worker,))[0] is worker:
            await asyncio.sleep(await controller.round())

    play(endpoint, queue, scenario)


def test_slots_and_the_pool_may_change_while_it_runs(endpoint: str, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"RockdoveElastic": '{"periodS": 0.1}'})

    async def scenario(bench: Bench) -> None:
        controller = bench.controller()
        await controller.round()
        assert bench.provisioner.machines == 1
        await bench.client.set_attributes(bench.queue, {"RockdoveElastic": '{"periodS": 0.1, "pool": 3}'})
        await controller.round()
        assert bench.provisioner.machines == 4
        await bench.client.set_attributes(bench.queue, {"RockdoveElastic": '{"periodS": 0.1, "pool": 1}'})
        await controller.round()
        assert bench.provisioner.machines == 2

    play(endpoint, queue, scenario)


def test_settings_may_change_while_it_runs(endpoint: str, client: Client, queue: str) -> None:
    async def scenario(bench: Bench) -> None:
        controller = bench.controller()
        with pytest.raises(NotElastic):
            await controller.round()
        await bench.client.set_attributes(bench.queue, {"RockdoveElastic": '{"periodS": 7}'})
        assert await controller.round() == 7
        await bench.client.set_attributes(bench.queue, {"RockdoveElastic": '{"periodS": 0.1, "minWorkers": 2}'})
        assert await controller.round() == 0.1
        assert await bench.parts() == ["up", "up"]

    play(endpoint, queue, scenario)


# Local processes.


@pytest.fixture
def processes(endpoint: str, queue: str, tmp_path: Path) -> Iterator[Callable[[], ProcessProvisioner]]:
    out = tmp_path / "out"
    command = worker_command(endpoint, None, queue, ["--exec", f"sh -c 'cat >> {out}'"])
    folder = tmp_path / "workers"
    yield lambda: ProcessProvisioner(folder, command)

    async def end() -> None:
        provisioner = ProcessProvisioner(folder, command)
        while seen := await provisioner.list():
            for each in seen:
                await provisioner.stop(each.number)
            await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(end(), 60))


async def ready(provisioner: ProcessProvisioner, number: int) -> None:
    while sum(each.is_ready for each in await provisioner.list()) != number:
        await asyncio.sleep(0.1)


def test_processes_are_found_again_and_repaired(
    client: Client, queue: str, processes: Callable[[], ProcessProvisioner]
) -> None:
    async def scenario() -> None:
        first = processes()
        await first.start(0)
        await first.start(0)
        await ready(first, 1)
        # Another controller, after the first has died.
        second = processes()
        (seen,) = await second.list()
        assert (seen.number, seen.done, second.machines) == (0, 0, 1)
        os.kill(int(seen.life.split()[0]), signal.SIGKILL)
        while await second.list():
            await asyncio.sleep(0.05)
        await second.start(0)
        await ready(second, 1)
        (again,) = await second.list()
        assert again.life != seen.life
        client.send(queue, "x")
        while not (await second.list())[0].done:
            await asyncio.sleep(0.1)
        await second.drain(0)
        while await second.list():
            await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(scenario(), 90))


def test_what_a_dead_worker_has_forked_is_ended_with_it(
    client: Client, queue: str, endpoint: str, tmp_path: Path
) -> None:
    """It holds the report file, too, and would be taken for the worker."""
    module = tmp_path / "forks.py"
    module.write_text(
        "import os, pathlib, time\n"
        "def handle(body):\n"
        "    if body == 'fork':\n"
        "        pid = os.fork()\n"
        "        if not pid:\n"
        "            time.sleep(600)\n"
        f"        pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(pid))\n"
    )
    command = worker_command(endpoint, None, queue, ["--handler", "forks:handle", "--visibility", "2"])

    async def scenario() -> None:
        provisioner = ProcessProvisioner(tmp_path / "workers", command)
        await provisioner.start(0)
        await ready(provisioner, 1)
        client.send(queue, "fork")
        while not (await provisioner.list())[0].done:
            await asyncio.sleep(0.1)
        (seen,) = await provisioner.list()
        os.kill(int(seen.life.split()[0]), signal.SIGKILL)
        while await provisioner.list():
            await asyncio.sleep(0.05)
        child = int((tmp_path / "pid").read_text())
        while lives(child):
            await asyncio.sleep(0.05)
        await provisioner.start(0)
        await ready(provisioner, 1)
        await provisioner.stop(0)
        while await provisioner.list():
            await asyncio.sleep(0.05)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        asyncio.run(asyncio.wait_for(scenario(), 120))


def test_a_worker_that_always_fails_is_told_and_left_alone_for_longer_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        fails, sleeps = ["/bin/sh", "-c", "echo no such thing; exit 3"], ["/bin/sleep", "60"]
        provisioner = ProcessProvisioner(tmp_path / "workers", lambda number, path: sleeps if number else fails)
        now_s = time.monotonic()
        provisioner._clock = lambda: now_s
        # One that was killed has not failed by itself.
        await provisioner.start(1)
        os.kill(provisioner._children[1], signal.SIGKILL)
        while await provisioner.list():
            await asyncio.sleep(0.01)
        await provisioner.start(1)
        assert await provisioner.list()
        await provisioner.stop(1)
        while await provisioner.list():
            await asyncio.sleep(0.01)
        said = tmp_path / "workers" / "0.log"
        for _ in range(5):
            await provisioner.start(0)
            while await provisioner.list():
                await asyncio.sleep(0.01)
        assert said.read_text().splitlines() == ["no such thing"]
        # It has its time now, and not before.
        now_s += 3
        await provisioner.start(0)
        while await provisioner.list():
            await asyncio.sleep(0.01)
        assert len(said.read_text().splitlines()) == 2

    with caplog.at_level("WARNING", "rockdove"):
        asyncio.run(asyncio.wait_for(scenario(), 60))
    assert caplog.text.count("worker 0 ended with code 3 (no such thing); its log is") == 1


@pytest.fixture
def reported(tmp_path: Path) -> Iterator[Path]:
    """The folder of a worker that a controller before has started: this process."""
    file = ReportFile(tmp_path / "0-0.json")
    file.write(Report(pid=os.getpid(), physical=0, started_s=1.0, is_ready=True))
    yield tmp_path
    file.close()


def test_a_worker_that_tells_nothing_is_silent_until_it_does(reported: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        words = words_of(os.getpid())
        now_s = time.time()
        provisioner = ProcessProvisioner(reported, lambda number, path: words, now=lambda: now_s)
        (seen,) = await provisioner.list()
        assert (seen.is_ready, seen.is_silent) == (True, False)
        now_s += SILENT_S + 1
        for _ in range(2):
            (seen,) = await provisioner.list()
            assert (seen.is_ready, seen.is_silent) == (False, True)
        now_s -= SILENT_S
        assert (await provisioner.list())[0].is_ready
        # A front-end tells once.
        now_s += SILENT_S + 1
        once = ProcessProvisioner(reported, lambda number, path: words, reports=False, now=lambda: now_s)
        assert (await once.list())[0].is_ready

    asyncio.run(scenario())
    first, second = (each.getMessage() for each in caplog.records)
    assert first.startswith(f"worker 0 (process {os.getpid()}) has told nothing for 31 s: ")
    assert second.endswith("tells again what it does")


def test_a_worker_that_does_something_else_is_told_once(reported: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        provisioner = ProcessProvisioner(
            reported, worker_command("http://127.0.0.1:1", None, "jobs", ["--exec", "cat"])
        )
        for _ in range(2):
            assert (await provisioner.list())[0].is_ready

    asyncio.run(scenario())
    (said,) = caplog.records
    assert f"worker 0 (process {os.getpid()}) goes on with what it was started with: rockdove " in said.getMessage()


def test_a_worker_that_does_not_hear_that_it_is_to_end_is_ended(
    endpoint: str, queue: str, processes: Callable[[], ProcessProvisioner]
) -> None:
    async def scenario() -> None:
        provisioner = processes()
        await provisioner.start(0)
        await ready(provisioner, 1)
        (seen,) = await provisioner.list()
        os.kill(int(seen.life.split()[0]), signal.SIGSTOP)
        provisioner._now = lambda: time.time() + SILENT_S + 1
        told: list[Published] = []
        async with AsyncClient(endpoint) as client:
            await client.set_attributes(queue, {"RockdoveElastic": SETTINGS})
            controller = Controller(client, queue, "one", provisioner, Measure(1), lambda it, paused: told.append(it))
            await controller.round()
            stopped = asyncio.Event()
            stopped.set()
            await controller.run(stopped, drains=True)
        assert [each.state for each in told[-1].workers] == ["silent"]
        assert not await provisioner.list()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_a_report_file_has_one_worker(tmp_path: Path) -> None:
    path = tmp_path / "0-0.json"
    assert read_report(path) == (None, False)
    file = ReportFile(path)
    with pytest.raises(Taken):
        ReportFile(path)
    assert read_report(path) == (None, True)
    file.close()
    assert read_report(path) == (None, False)
    ReportFile(path).close()


# What is published.


def test_what_is_published_fits() -> None:
    from rockdove.capacity.scaling.step import Act, State
    from rockdove.elastic.state import Decided, ShownWorker

    workers = [
        ShownWorker(number=at, state="up", load=at, in_flight=0, share=0.5, machine="1", done=10**9)
        for at in range(1_000)
    ]
    decisions = [Decided(at=time.time(), act=Act.ADD, reason="x" * 1_000, workers=1) for _ in range(50)]
    whole = Published(
        at=0.0,
        policy="paper",
        target=3,
        machines=1,
        arrival=None,
        growth=0.0,
        service_s=None,
        failure=0.0,
        workers=workers[:10],
        decisions=decisions,
        rule=State(),
    )
    assert read(write(whole)) == whole
    from msgspec.structs import replace

    large = read(write(replace(whole, workers=workers)))
    assert large is not None
    assert large.target == 3
    assert len(write(replace(whole, workers=workers))) <= 65_536
    assert read("nonsense") is None
    assert read(None) is None
    assert sys.getsizeof(write(whole)) > 0
