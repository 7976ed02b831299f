"""A pod, as far as workers are concerned, and which worker it is. Pure: knows no client of Kubernetes."""

import re
import time
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from rockdove.elastic.provision.base import Seen

# One that should have ended so long ago does not end by itself.
OVERDUE_S = 60.0


class Kind(StrEnum):
    """What is scaled."""

    STATEFUL_SET = "statefulset"
    DEPLOYMENT = "deployment"


class Pod(Struct, frozen=True, kw_only=True):
    """``owner``: kind and name of what made it. ``made_s`` and ``ends_s``: seconds since 1970. ``took_s``: from when it
    was made until it was ready. ``trouble``: why it does not run."""

    name: str
    uid: str
    owner: tuple[str, str]
    node: str = ""
    made_s: float = 0.0
    ends_s: float | None = None
    is_ready: bool = False
    has_ended: bool = False
    restarts: int = 0
    took_s: float | None = None
    trouble: str | None = None

    @property
    def is_draining(self) -> bool:
        """It was told to end."""
        return self.ends_s is not None

    def overdue(self, now_s: float) -> bool:
        return self.ends_s is not None and now_s - self.ends_s > OVERDUE_S


def workers(kind: Kind, name: str, replicas: int, pods: Sequence[Pod]) -> list[Seen]:
    """Each worker that is wanted, whether its pod is there or not, and those that are about to end."""
    if kind is Kind.STATEFUL_SET:
        return _by_ordinal(name, replicas, pods)
    return _by_rank(name, replicas, pods)


def _by_ordinal(name: str, replicas: int, pods: Sequence[Pod]) -> list[Seen]:
    """Pod i of a StatefulSet is the worker of physical queue i."""
    found = {}
    for pod in pods:
        match = re.fullmatch(rf"{re.escape(name)}-(\d+)", pod.name)
        if match and pod.owner == ("StatefulSet", name):
            found[int(match[1])] = pod
    numbers = sorted({*range(replicas), *found})
    # Those with higher ordinals are ended by Kubernetes, some at a time.
    return [_seen(number, found.get(number), number >= replicas) for number in numbers]


def _by_rank(name: str, replicas: int, pods: Sequence[Pod]) -> list[Seen]:
    """Pods of a Deployment are all alike: those that are ready have the first numbers, the oldest first."""
    own = [pod for pod in pods if _is_of_deployment(name, pod) and not pod.has_ended]
    staying = sorted(
        (pod for pod in own if not pod.is_draining), key=lambda pod: (not pod.is_ready, pod.made_s, pod.name)
    )
    # More than are wanted are there while a new version is rolled out.
    wanted: list[Pod | None] = [*staying[:replicas], *[None] * (replicas - len(staying))]
    ending = sorted((pod for pod in own if pod.is_draining), key=lambda pod: (pod.made_s, pod.name))
    return [_seen(number, pod, number >= replicas) for number, pod in enumerate([*wanted, *ending])]


def _is_of_deployment(name: str, pod: Pod) -> bool:
    """Its pods are made by a ReplicaSet for each version."""
    kind, owner = pod.owner
    return kind == "ReplicaSet" and re.fullmatch(rf"{re.escape(name)}-[a-z0-9]+", owner) is not None


def _seen(number: int, pod: Pod | None, is_leaving: bool) -> Seen:
    if pod is None:
        # Kubernetes is about to make it.
        return Seen(number, "", "", is_ready=False)
    return Seen(number, pod.node, f"{pod.uid} {pod.restarts}", pod.is_ready, is_leaving or pod.is_draining)


def troubles(pods: Sequence[Pod], now_s: float | None = None) -> dict[str, str]:
    """What people should know, by the pod's name."""
    now_s = time.time() if now_s is None else now_s
    told = {pod.name: pod.trouble for pod in pods if pod.trouble is not None}
    for pod in pods:
        if pod.overdue(now_s):
            told[pod.name] = f"it should have ended long ago; if its node ({pod.node}) is lost, delete that node"
    return told
