"""Cassandra nodes on this machine with services on them, each a process of its own that can be killed."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rockdove.workload.cassandra import CassandraNode, start_all
from rockdove.workload.local import RunsInside, ServiceProcess

NETWORK = "127.0.6"


class LocalCluster(RunsInside):
    """Nodes run inside ``with``, and leave nothing but their folder; services as long as somebody wants them.

    Everything raises `WorkloadFailed`.
    """

    def __init__(self, folder: Path, jars: Path, nodes: int) -> None:
        self._folder = folder
        self.nodes = [CassandraNode(at, folder / f"node-{at}", jars, NETWORK) for at in range(1, nodes + 1)]
        self._services = 0

    def _begin(self) -> None:
        start_all(self.nodes)

    def _end(self) -> None:
        for node in self.nodes:
            node.kill()

    @contextmanager
    def serving(self, number: int, consistency: str) -> Iterator[list[ServiceProcess]]:
        """So many services on one keyspace, which has a copy on each node."""
        hosts = ",".join(node.address for node in self.nodes)
        words = ["--workers", "0", "--no-cool-down", "--store", f"cassandra://{hosts}/bench_{consistency}"]
        words += ["--replication", str(len(self.nodes)), "--consistency", consistency]
        fronts = [ServiceProcess(self._folder / f"service-{self._services + at}", words) for at in range(number)]
        self._services += number
        with ExitStack() as stack:
            for front in fronts:
                stack.callback(front.stop)
                front.begin()
                # One after another: the first makes the tables.
                front.wait()
            yield fronts


class Killer(threading.Thread):
    """Kills servers at random, and starts each again after a while."""

    def __init__(
        self, servers: Sequence[CassandraNode | ServiceProcess], mttf_s: float, mttr_s: float, rng: random.Random
    ) -> None:
        """``mttf_s``: the mean time until one of them fails, counted for each."""
        super().__init__(name="killer", daemon=True)
        self._servers = list(servers)
        self._mttf_s = mttf_s
        self._mttr_s = mttr_s
        self._rng = rng
        self._over = threading.Event()
        self.killed = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._over.wait(self._rng.expovariate(len(self._servers) / self._mttf_s)):
                server = self._rng.choice(self._servers)
                server.kill()
                self.killed += 1
                self._over.wait(self._mttr_s)
                server.begin()
                server.wait()
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        """All servers run when this returns. Raises what has gone wrong."""
        self._over.set()
        self.join()
        if self.error is not None:
            raise self.error
