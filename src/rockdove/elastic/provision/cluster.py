"""The calls to Kubernetes: one workload's scale, and its pods. The only module that imports its client."""

import os
from collections.abc import Awaitable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rockdove.core.errors import MissingExtra
from rockdove.elastic.provision.base import NothingToScale, ProvisionerAway, ProvisionerRefuses, ProvisionerTrouble
from rockdove.elastic.provision.pod import Kind, Pod

try:
    import aiohttp
    from kubernetes.aio import client, config
    from kubernetes.aio.config import ConfigException
    from yaml import YAMLError
except ImportError:
    raise MissingExtra(
        "workers on Kubernetes need its client; install it with: pip install 'rockdove[kubernetes]'"
    ) from None

T = TypeVar("T")

# Seconds for one call.
CALL_S = 10.0
# Sent with each change of the scale, so that nobody else's change is overwritten unseen.
PATCH = "application/merge-patch+json"
# What a container that is on its way waits for.
_ON_ITS_WAY = ("ContainerCreating", "PodInitializing")
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class Conflict(ProvisionerTrouble):
    """Somebody has changed it since it was read."""


class Scale(Struct, frozen=True):
    """``selector``: of its pods. ``version``: of what was read."""

    replicas: int
    selector: str
    version: str


class Cluster:
    """For one event loop."""

    def __init__(self, settings: Any, kind: Kind, name: str, namespace: str) -> None:
        self.kind = kind
        self.name = name
        self.namespace = namespace
        self._host = settings.host
        self._api = client.ApiClient(settings)
        self._core = client.CoreV1Api(self._api)
        apps = client.AppsV1Api(self._api)
        if kind is Kind.STATEFUL_SET:
            self._read, self._patch = apps.read_namespaced_stateful_set_scale, apps.patch_namespaced_stateful_set_scale
        else:
            self._read, self._patch = apps.read_namespaced_deployment_scale, apps.patch_namespaced_deployment_scale

    async def scale(self) -> Scale:
        found: Any = await self._ask(self._read(self.name, self.namespace, _request_timeout=CALL_S))
        if found is None or None in (found.metadata, found.spec, found.status) or not found.status.selector:
            raise ProvisionerAway(f"{self._host} does not answer as Kubernetes does: {self._place} has no scale")
        # None stands for 0.
        return Scale(found.spec.replicas or 0, found.status.selector, found.metadata.resource_version)

    async def resize(self, scale: Scale, replicas: int) -> None:
        """Raises `Conflict` if it is not as it was when ``scale`` was read."""
        body = {"metadata": {"resourceVersion": scale.version}, "spec": {"replicas": replicas}}
        await self._ask(self._patch(self.name, self.namespace, body, _content_type=PATCH, _request_timeout=CALL_S))

    async def pods(self, scale: Scale) -> list[Pod]:
        found: Any = await self._ask(
            self._core.list_namespaced_pod(self.namespace, label_selector=scale.selector, _request_timeout=CALL_S)
        )
        if found is None:
            raise ProvisionerAway(f"{self._host} does not answer as Kubernetes does: there is no list of pods")
        return [_pod(each) for each in found.items]

    async def close(self) -> None:
        await self._api.close()

    @property
    def _place(self) -> str:
        return f"{self.kind.value} {self.name} in namespace {self.namespace}"

    async def _ask(self, call: Awaitable[T]) -> T:
        """Raises `ProvisionerTrouble`, which says what to do."""
        try:
            return await call
        except client.ApiException as error:
            raise self._meant(error) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            told = str(error) or type(error).__name__
            raise ProvisionerAway(f"Kubernetes cannot be reached at {self._host}: {told}") from None
        except (ConfigException, ValueError, TypeError, AttributeError) as error:
            # A token that cannot be renewed, or an answer that is not one of Kubernetes.
            told = " ".join(str(error).split())[:300]
            raise ProvisionerAway(f"{self._host} does not answer as Kubernetes does: {told}") from None

    def _meant(self, error: client.ApiException) -> ProvisionerTrouble:
        said = _message(error)
        match error.status:
            case 401:
                return ProvisionerRefuses(f"Kubernetes does not know who asks (401): {said}; renew the token")
            case 403:
                return ProvisionerRefuses(
                    f"Kubernetes refuses (403): {said}; give rights as deploy/kubernetes/rbac.yaml does"
                )
            case 404:
                return NothingToScale(f"there is no {self._place}; name it with --workload and --namespace")
            case 409:
                return Conflict(f"somebody else changes {self._place} at the same time")
            case 429:
                return ProvisionerAway(f"Kubernetes asks to wait (429): {said}")
            case status if status is not None and status < 500:
                return ProvisionerRefuses(f"Kubernetes refuses ({status}): {said}")
        return ProvisionerAway(f"Kubernetes is in trouble ({error.status}): {said}")


async def connect(kind: Kind, name: str, namespace: str | None, kubeconfig: Path | None) -> Cluster:
    """By the file; without one, in a pod, as the pod's service account; elsewhere as kubectl does.

    Raises `ProvisionerTrouble`.
    """
    settings = client.Configuration()
    inside = kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        if inside:
            config.load_incluster_config(client_configuration=settings)
        else:
            file = None if kubeconfig is None else str(kubeconfig)
            await config.load_kube_config(file, client_configuration=settings)
    except (ConfigException, YAMLError, OSError, ValueError, TypeError) as error:
        where = "the pod's service account" if inside else kubeconfig or "the kubeconfig"
        raise ProvisionerTrouble(
            f"{where} does not say how to reach Kubernetes: {' '.join(str(error).split())}"
        ) from None
    return Cluster(settings, kind, name, namespace or _namespace(inside))


def _namespace(inside: bool) -> str:
    return _NAMESPACE_FILE.read_text().strip() if inside and _NAMESPACE_FILE.exists() else "default"


class _Status(Struct):
    message: str = ""


def _message(error: client.ApiException) -> str:
    """What the API server says, without what it repeats."""
    try:
        said = msgspec.json.decode(error.body or "", type=_Status).message
    except msgspec.MsgspecError:
        said = ""
    return " ".join((said or error.reason or "it does not say why").split())


def _pod(found: Any) -> Pod:
    meta, status = found.metadata, found.status
    owner = next((each for each in meta.owner_references or () if each.controller), None)
    conditions = {each.type: each for each in status.conditions or ()}
    containers = status.container_statuses or ()
    restarts = sum(each.restart_count for each in containers)
    ready = conditions.get("Ready")
    # A lost node's pods are in phase Unknown, or not ready.
    is_ready = ready is not None and ready.status == "True" and status.phase == "Running"
    took_s = None
    if is_ready and not restarts and ready is not None and ready.last_transition_time is not None:
        took_s = max((ready.last_transition_time - meta.creation_timestamp).total_seconds(), 0.0)
    return Pod(
        name=meta.name,
        uid=meta.uid,
        owner=("", "") if owner is None else (owner.kind, owner.name),
        node=found.spec.node_name or "",
        made_s=_seconds(meta.creation_timestamp) or 0.0,
        ends_s=_seconds(meta.deletion_timestamp),
        is_ready=is_ready,
        has_ended=status.phase in ("Succeeded", "Failed"),
        restarts=restarts,
        took_s=took_s,
        trouble=_trouble(conditions.get("PodScheduled"), containers),
    )


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def _trouble(scheduled: Any, containers: Any) -> str | None:
    """Why it does not run, where that does not pass by itself."""
    if scheduled is not None and scheduled.status == "False":
        return f"{scheduled.reason}: {scheduled.message}"
    for each in containers:
        waiting = each.state.waiting if each.state is not None else None
        if waiting is not None and waiting.reason not in _ON_ITS_WAY:
            return f"{waiting.reason}: {waiting.message}"
    return None
