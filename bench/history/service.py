"""What is tested: services that can be killed, paused and restarted, with clocks and disks that can fail."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.error import BenchError
from bench.history.call import Fault
from bench.server import PROGRAM, announced, free_port
from rockdove.workload import cassandra, redis
from rockdove.workload.cassandra import CassandraNode
from rockdove.workload.error import WorkloadFailed
from rockdove.workload.redis import RedisServer

# As in shim.c: by how much the clock is wrong, and the errors of writes and of syncs.
_CONTROL = struct.Struct("<qii")
_SHIM = Path(__file__).parent / "shim.c"
# Redis servers, or nodes of Cassandra, if they have the messages.
_SERVERS = 3
_JARS = Path(__file__).resolve().parents[2] / ".setup" / "cassandra" / "lib"
_NETWORK = "127.0.7"
_START_S = 60.0
_STOP_S = 60.0
# Seconds between two faults.
PAUSE_S = (0.5, 3.0)
MOST_JUMP_S = 60
# Where clocks may differ by half a second: most jumps are smaller, and some are refused.
SMALL_JUMP_S = 0.4


class Place:
    """Where messages are: Redis servers, or nodes of Cassandra, of its own, if ``store`` says so."""

    def __init__(self, folder: Path, store: str) -> None:
        self.servers: Sequence[RedisServer | CassandraNode] = []
        # What services are told of it.
        self.options = [store]
        self._start_all: Callable[[], None] = lambda: None
        numbers = range(1, _SERVERS + 1)
        if store == "redis":
            servers = [RedisServer(folder / f"redis-{at}") for at in numbers]
            self.options = [redis.url_of(servers)]
            self.servers, self._start_all = servers, partial(redis.start_all, servers)
        elif store == "cassandra":
            nodes = [CassandraNode(at, folder / f"node-{at}", _JARS, _NETWORK, durable=True) for at in numbers]
            hosts = ",".join(node.address for node in nodes)
            self.options = [f"cassandra://{hosts}/history", "--replication", str(_SERVERS)]
            self.servers, self._start_all = nodes, partial(cassandra.start_all, nodes)

    def start(self) -> None:
        """Raises `BenchError`."""
        try:
            self._start_all()
        except WorkloadFailed as error:
            raise BenchError(str(error)) from None

    def close(self) -> None:
        for server in self.servers:
            server.kill()


class Service:
    """Runs once started, on one port for its whole life."""

    def __init__(self, folder: Path, place: Place, workers: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "service.log"
        self.complaints: list[str] = []
        self.endpoint = f"http://127.0.0.1:{(port := free_port())}"
        control = folder / "control"
        control.write_bytes(bytes(_CONTROL.size))
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), _CONTROL.size)
        self._environment = {
            **os.environ,
            "LD_PRELOAD": str(_build(folder)),
            "BENCH_HISTORY_CONTROL": str(control),
        }
        self._command = [PROGRAM, "serve", "--port", str(port), "--no-cool-down"]
        self._data = folder / "data"
        self._command += ["--store", *place.options, "--data", str(self._data), "--workers", str(workers)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._keep_log()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)
        end_s = time.monotonic() + _START_S
        while announced(self._log) is None:
            if self._process.poll() is not None or time.monotonic() > end_s:
                raise BenchError(f"the service did not start:\n{self.log()}")
            time.sleep(0.02)

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]

    def _keep_log(self) -> None:
        """What it has complained of so far."""
        if self._log.exists():
            lines = self._log.read_text(errors="replace").splitlines()
            self.complaints += [line for line in lines if " ERROR " in line or " WARNING " in line]

    def kill(self) -> None:
        """All of it: the others do not outlive the parent."""
        assert self._process is not None
        children = self.children()
        self._process.kill()
        self._process.wait()
        end_s = time.monotonic() + _STOP_S
        while any(map(_is_alive, children)):
            if time.monotonic() > end_s:
                raise BenchError("processes of the service have outlived their parent")
            time.sleep(0.01)

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(_STOP_S)

    def children(self) -> list[int]:
        """The owner and the front-ends, if there are several processes."""
        assert self._process is not None
        text = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def owner(self) -> int | None:
        """Of the children, the one that has the data folder open."""
        lock = str(self._data / "lock")
        for pid in self.children():
            with contextlib.suppress(OSError):
                if any(os.readlink(file) == lock for file in Path(f"/proc/{pid}/fd").iterdir()):
                    return pid
        return None

    def front_ends(self) -> list[int]:
        owner = self.owner()
        return [pid for pid in self.children() if pid != owner]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def fail(self, write_error: int = 0, sync_error: int = 0) -> None:
        """Let writes and syncs of the data fail, or no more."""
        offset_ns = _CONTROL.unpack(self._control)[0]
        self._control[:] = _CONTROL.pack(offset_ns, write_error, sync_error)

    def set_clock(self, offset_s: float) -> float:
        """Make the clock wrong by so much; by how much that sets it."""
        before_ns, *errors = _CONTROL.unpack(self._control)
        self._control[:] = _CONTROL.pack(int(offset_s * 1e9), *errors)
        return float(offset_s - before_ns / 1e9)

    def close(self) -> None:
        """Again does nothing."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._keep_log()


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _build(folder: Path) -> Path:
    library = folder / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_SHIM), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise BenchError("there is no C compiler: install gcc") from None
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{_SHIM} cannot be compiled:\n{error.stderr}") from None
    return library


class Trouble(threading.Thread):
    """Hits services, and where their messages are, with faults until told to end: one after another."""

    def __init__(self, services: Sequence[Service], place: Place, store: str, workers: int, rng: random.Random) -> None:
        super().__init__(name="trouble")
        self._services = services
        self._place = place
        self._rng = rng
        self._over = threading.Event()
        self.faults: list[Fault] = []
        self.error: BaseException | None = None
        kinds: list[Callable[[], float | None]] = [self.pause, self.clock]
        if workers:
            kinds.append(self.kill_front_end)
        if store != "memory":
            # What is in memory does not outlive its process.
            kinds += [self.kill, self.kill, self.restart]
        if store == "sqlite":
            kinds += [self.full, self.broken]
        if workers and store == "sqlite":
            kinds.append(self.kill_owner)
        if store in ("redis", "cassandra"):
            kinds += [self.kill_server, self.kill_server, self.pause_server]
        self._kinds = kinds
        # Cassandra's clocks are not those of the services, each of which has another.
        self._has_own_clocks = store == "cassandra"
        self._most_jump_s = SMALL_JUMP_S if self._has_own_clocks else MOST_JUMP_S

    def run(self) -> None:
        try:
            while not self._over.wait(self._rng.uniform(*PAUSE_S)):
                act = self._rng.choice(self._kinds)
                begin_s = time.monotonic()
                jump_s = act()
                self.faults.append(Fault(act.__name__, begin_s, time.monotonic(), jump_s or 0.0))
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        """All is whole when this returns, and clocks are as late as they ever were: so nothing stays hidden."""
        self._over.set()
        self.join()
        if self.error is not None:
            raise self.error
        begin_s = time.monotonic()
        jump_s = self._set_clocks(self._services, self._most_jump_s)
        self.faults.append(Fault("clock", begin_s, time.monotonic(), jump_s))

    def _any(self) -> Service:
        return self._rng.choice(self._services)

    def kill(self) -> None:
        service = self._any()
        service.kill()
        service.start()

    def restart(self) -> None:
        service = self._any()
        code = service.stop()
        if code != 0:
            raise BenchError(f"the service ended with {code} when it was told to stop:\n{service.log()}")
        service.start()

    def kill_owner(self) -> None:
        owner = self._any().owner()
        if owner is not None:
            _send(owner, signal.SIGKILL)

    def kill_front_end(self) -> None:
        front_ends = self._any().front_ends()
        if front_ends:
            _send(self._rng.choice(front_ends), signal.SIGKILL)

    def kill_server(self) -> None:
        """One at a time."""
        server = self._rng.choice(self._place.servers)
        server.kill()
        time.sleep(self._rng.choice([0.0, self._rng.uniform(0.1, 4.0)]))
        server.begin()
        server.wait()

    def pause_server(self) -> None:
        server = self._rng.choice(self._place.servers)
        server.pause()
        time.sleep(self._rng.uniform(0.1, 2.5))
        server.go_on()

    def pause(self) -> None:
        service = self._any()
        pid = self._rng.choice([service.pid, *service.children()])
        _send(pid, signal.SIGSTOP)
        time.sleep(self._rng.uniform(0.1, 2.5))
        _send(pid, signal.SIGCONT)

    def clock(self) -> float:
        services = [self._any()] if self._has_own_clocks else self._services
        return self._set_clocks(services, self._rng.uniform(-self._most_jump_s, self._most_jump_s))

    def _set_clocks(self, services: Sequence[Service], offset_s: float) -> float:
        """The longest of the jumps."""
        return max((service.set_clock(offset_s) for service in services), key=abs)

    def full(self) -> None:
        service = self._any()
        service.fail(write_error=errno.ENOSPC)
        time.sleep(self._rng.uniform(0.2, 2.0))
        service.fail()

    def broken(self) -> None:
        which = self._rng.choice(["write_error", "sync_error"])
        service = self._any()
        service.fail(**{which: errno.EIO})
        time.sleep(self._rng.uniform(0.1, 1.0))
        service.fail()
