"""Workers as pods of a StatefulSet or a Deployment: Kubernetes runs them, and starts those again that die."""

import contextlib
import logging
import statistics
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from rockdove.elastic.provision.base import ProvisionerTrouble, Seen
from rockdove.elastic.provision.cluster import Cluster, Conflict, connect
from rockdove.elastic.provision.pod import Kind, Pod, troubles, workers

log = logging.getLogger("rockdove")

# A change is tried so many times while somebody else changes the workload, too.
TRIES = 5


class KubernetesProvisioner:
    """Changes one number, the workload's replicas; all that it knows it reads from the API each time.

    Pods can only be taken away from the end: the highest ordinal of a StatefulSet, any pod of a Deployment. So a worker
    that is drained goes when all after it are drained, too; until then it works on. The controller removes the last one
    first, so it never has to wait. A pod that goes gets SIGTERM, on which a worker finishes what it has.

    A StatefulSet's pod i works on physical queue i. Pods of a Deployment receive from the whole queue: numbers are then
    no more than ranks, and physical queues a means to share out. What workers have done is not known to Kubernetes.
    """

    def __init__(self, cluster: Cluster, startup_s: float | None = None) -> None:
        """``startup_s``: how long a worker takes; None: as long as those took that there are."""
        self._cluster = cluster
        self._startup_s = startup_s
        self._replicas: int | None = None
        # Drained, and not the last.
        self._drained: set[int] = set()
        self._pods: list[Pod] = []
        self._told: dict[str, str] = {}

    @classmethod
    async def open(
        cls,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        kubeconfig: Path | None = None,
        startup_s: float | None = None,
    ) -> "KubernetesProvisioner":
        """Raises `ProvisionerTrouble` if the workload is not there, or a right is missing."""
        cluster = await connect(kind, name, namespace, kubeconfig)
        try:
            scale = await cluster.scale()
            await cluster.pods(scale)
            # Changes nothing; whether it may be changed is better known now than when there is much to do. If somebody
            # else changes it meanwhile, it may.
            with contextlib.suppress(Conflict):
                await cluster.resize(scale, scale.replicas)
        except BaseException:
            await cluster.close()
            raise
        return cls(cluster, startup_s)

    async def fit(self, slots: int, pool: int) -> None:
        """Where pods go, and which nodes are ready, is not ours to say."""

    async def start(self, number: int) -> None:
        self._drained.discard(number)
        if self._replicas is None or number >= self._replicas:
            await self._resize(lambda replicas: max(replicas, number + 1))

    async def drain(self, number: int) -> None:
        self._drained.add(number)
        if self._replicas is None or self._without_drained(self._replicas) != self._replicas:
            await self._resize(self._without_drained)

    async def stop(self, number: int) -> None:
        """As `drain`: to end a pod at once takes a right that a controller has no other need for."""
        await self.drain(number)

    async def list(self) -> list[Seen]:
        scale = await self._cluster.scale()
        self._pods = await self._cluster.pods(scale)
        self._replicas = scale.replicas
        self._drained.intersection_update(range(scale.replicas))
        self._tell()
        seen = workers(self._cluster.kind, self._cluster.name, scale.replicas, self._pods)
        return [_draining(each) if each.number in self._drained else each for each in seen]

    async def close(self) -> None:
        """The pods live on."""
        await self._cluster.close()

    @property
    def machines(self) -> int:
        """Nodes with a pod."""
        return len({pod.node for pod in self._pods if pod.node})

    @property
    def start_s(self) -> float:
        if self._startup_s is not None:
            return self._startup_s
        took = [pod.took_s for pod in self._pods if pod.took_s is not None]
        return statistics.median(took) if took else 0.0

    def _without_drained(self, replicas: int) -> int:
        while replicas > 0 and replicas - 1 in self._drained:
            replicas -= 1
        return replicas

    async def _resize(self, change: Callable[[int], int]) -> None:
        for _ in range(TRIES):
            scale = await self._cluster.scale()
            replicas = change(scale.replicas)
            try:
                if replicas != scale.replicas:
                    await self._cluster.resize(scale, replicas)
            except Conflict:
                continue
            self._replicas = replicas
            return
        raise ProvisionerTrouble(f"{TRIES} times, somebody else has changed {self._cluster.name} at the same time")

    def _tell(self) -> None:
        """Each trouble once."""
        found = troubles(self._pods)
        for name, trouble in found.items():
            if self._told.get(name) != trouble:
                log.warning("pod %s: %s", name, trouble)
        self._told = found


def _draining(seen: Seen) -> Seen:
    return replace(seen, is_draining=True)
