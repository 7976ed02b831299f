"""A Cassandra node as a process of its own, with its folder and its address."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from rockdove.workload.cassandra.settings import CQL_PORT, MODULE_FLAGS, SERVER_FLAGS, TOKENS, write_settings
from rockdove.workload.error import Trouble, WorkloadFailed
from rockdove.workload.process import fields_of

MOST_NODES = len(TOKENS)
HEAP = "512m"
# A node that does not answer after so many seconds never will.
START_S = 180.0
STOP_S = 60.0
_started: list["subprocess.Popen[bytes]"] = []
_MAIN = "org.apache.cassandra.service.CassandraDaemon"


class CassandraNode:
    """Node ``number`` of up to three, counted from 1, at the address ``NETWORK.number``. Node 1 starts first.

    ``jars`` is the folder that `make cassandra-jars` fills. The process outlives this object: another one with the same
    folder finds it again.
    """

    def __init__(self, number: int, folder: Path, jars: Path, network: str = "127.0.0", durable: bool = False) -> None:
        """``durable``: every write is on disk before it is answered."""
        self.number = number
        self.folder = folder
        self.address = f"{network}.{number}"
        self._seed = f"{network}.1"
        self._jars = jars
        self._durable = durable
        # Only this machine reaches it, whatever the address; so it is told apart by number and network.
        self._jmx_port = 7_099 + 100 * number + int(network.rpartition(".")[2])

    @property
    def pid(self) -> int | None:
        """Of the process, if it runs."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.folder / "pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            # A process that is just being started has none for a moment.
            if (not command or _MAIN.encode() in command) and fields_of(pid)[0] != "Z":
                return pid
        return None

    def begin(self) -> None:
        """Start it, unless it runs; `wait` for it then. Raises `WorkloadFailed`."""
        if self.pid is not None:
            return
        if self._is_answering():
            where = f"{self.address}:{CQL_PORT}"
            raise WorkloadFailed(Trouble("failed", f"another process listens on {where}, perhaps a node that was left"))
        for each in ("conf", "logs", "tmp", "triggers"):
            (self.folder / each).mkdir(parents=True, exist_ok=True)
        if not (self.folder / "conf" / "cassandra.yaml").exists():
            write_settings(self.folder / "conf", self.number, self.address, self._seed, self._durable)
        agent = next(iter(self._jars.glob("jamm-*.jar")), None)
        if agent is None:
            raise WorkloadFailed(Trouble("failed", f"{self._jars} has no jars of Cassandra: run make cassandra-jars"))
        folders = [
            f"-D{name}={self.folder / below}"
            for name, below in (
                ("java.io.tmpdir", "tmp"),
                ("jna.tmpdir", "tmp"),
                ("cassandra.storagedir", "."),
                ("cassandra.logdir", "logs"),
                ("cassandra.triggers_dir", "triggers"),
            )
        ]
        config = f"-Dcassandra.config=file://{self.folder / 'conf' / 'cassandra.yaml'}"
        flags = ["-Xms128m", f"-Xmx{HEAP}", f"-javaagent:{agent}", *SERVER_FLAGS, *MODULE_FLAGS, *folders, config]
        jmx = f"-Dcassandra.jmx.local.port={self._jmx_port}"
        with (self.folder / "logs" / "out.log").open("wb") as log:
            process = subprocess.Popen(
                [_java(), *flags, jmx, "-cp", self._classes, _MAIN],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"MALLOC_ARENA_MAX": "2"},
                start_new_session=True,
            )
        # It outlives this object, and perhaps this process.
        _started.append(process)
        (self.folder / "pid").write_text(str(process.pid))

    def _is_answering(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((self.address, CQL_PORT), timeout=1):
            return True
        return False

    def wait(self) -> None:
        """Until it answers. Raises `WorkloadFailed`."""
        deadline = time.monotonic() + START_S
        while not self._is_answering():
            if self.pid is None:
                raise self._failed("has ended")
            if time.monotonic() > deadline:
                raise self._failed("does not answer")
            time.sleep(0.1)

    def start(self) -> None:
        """Raises `WorkloadFailed`."""
        self.begin()
        self.wait()

    def stop(self) -> None:
        """In good order: it flushes what it has in memory."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def nodetool(self, *words: str) -> str:
        """What nodetool says. Raises `WorkloadFailed`."""
        flags = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *MODULE_FLAGS]
        folders = [f"-Dcassandra.storagedir={self.folder}", f"-Dcassandra.logdir={self.folder / 'tmp'}"]
        tool = ["org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", str(self._jmx_port)]
        command = [_java(), *flags, *folders, "-cp", self._classes, *tool, *words]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.returncode:
            raise WorkloadFailed(Trouble("failed", f"nodetool {' '.join(words)}: {said.stdout}{said.stderr}"))
        return said.stdout

    @property
    def _classes(self) -> str:
        return f"{self.folder / 'conf'}:{self._jars}/*"

    def _failed(self, what: str) -> WorkloadFailed:
        logs = [self.folder / "logs" / name for name in ("out.log", "system.log")]
        last = "\n".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())
        return WorkloadFailed(Trouble("failed", f"Cassandra node {self.number} {what}:\n{last}"))

    def _signal(self, number: signal.Signals) -> int | None:
        pid = self.pid
        if pid is not None:
            os.kill(pid, number)
        return pid

    def _end(self, number: signal.Signals) -> None:
        pid = self._signal(number)
        self._signal(signal.SIGCONT)
        deadline = time.monotonic() + STOP_S
        while self.pid is not None:
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
            time.sleep(0.05)
        if pid is not None:
            # If it is a child of this process, it is not left as a zombie.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def start_all(nodes: Sequence[CassandraNode]) -> None:
    """One after another, and until all see each other. Raises `WorkloadFailed`."""
    for node in nodes:
        node.start()
    deadline = time.monotonic() + START_S
    while len(nodes) > 1 and nodes[0].nodetool("status").count("\nUN ") < len(nodes):
        if time.monotonic() > deadline:
            raise WorkloadFailed(Trouble("failed", "the Cassandra nodes do not see each other"))
        time.sleep(0.5)


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise WorkloadFailed(Trouble("failed", "Java 17 is missing: apt-get install default-jre-headless"))
    return java
