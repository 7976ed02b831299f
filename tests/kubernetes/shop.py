"""A namespace of Kubernetes in which a queue has its workers, with the files of deploy/kubernetes."""

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubernetes.aio import client as kube

from rockdove.client import Client
from tests.support.controlplane import ControlPlane
from tests.support.environment import isolated
from tests.support.kubelet import Kubelet
from tests.support.manifest import documents
from tests.support.process import Process
from tests.support.server import COMMAND, Server

DEADLINE_S = 90
ELASTIC = '{"periodS": 0.2, "minLoad": 1, "maxLoad": 3, "maxWorkers": 3, "safetyS": 0.3}'
NAME = "jobs-worker"


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.05)


class Shop:
    """With a queue of the service, which has its name from the namespace."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet, server: Server, client: Client, folder: Path) -> None:
        self.plane = plane
        self.kubelet = kubelet
        self.client = client
        self.endpoint = server.endpoint
        self.folder = folder
        self.namespace = plane.new_namespace()
        self.queue = f"jobs-{self.namespace}"
        self.out = folder / "out"
        client.create_queue(self.queue)
        secret = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
        named = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "rockdove-account"}, "stringData": secret}
        plane.create(self.namespace, [named])
        self.kind = ""

    def close(self) -> None:
        """No worker is left."""
        wait_until(self._has_no_pods, "pods are left")

    def apply(self, file: str, work: str) -> None:
        """Workers and the rights of their controller, as in the files; ``work``: what is done with a message."""
        role, *others = (self._changed(each, work) for each in documents(file) if each["kind"] != "Service")
        found = [role, *others]
        roles = {each["kind"] for each in found}
        rights = [each for each in documents("rbac.yaml") if each["kind"] not in roles]
        for each in rights:
            for subject in each.get("subjects", ()):
                subject["namespace"] = self.namespace
        self.plane.create(self.namespace, [*rights, *found])
        self.kind = next(each["kind"].lower() for each in found if each["kind"] != "Role")

    def _changed(self, document: Any, work: str) -> Any:
        """With the test's queue, service and work in place of the example's."""
        document = copy.deepcopy(document)
        if document["kind"] == "Role":
            return document
        document["spec"]["replicas"] = 0
        (container,) = document["spec"]["template"]["spec"]["containers"]
        container["args"] = [
            self.queue if word == "jobs" else f"--exec={work}" if word.startswith("--exec") else word
            for word in container["args"]
        ]
        container["args"].append("--visibility=3")
        (address,) = (each for each in container["env"] if each["name"] == "ROCKDOVE_ENDPOINT")
        address["value"] = self.endpoint
        return document

    @property
    def rights(self) -> Path:
        """A kubeconfig of the controller's service account."""
        return self.plane.kubeconfig(self.namespace, self.plane.token(self.namespace, "jobs-scaler"))

    def autoscale(self, *words: str, kubeconfig: Path | None = None) -> Process:
        """The controller, as a process of its own."""
        command = [*COMMAND, "autoscale", self.queue, "--provisioner", "kubernetes", "--endpoint", self.endpoint]
        command += ["--workload", f"{self.kind or 'statefulset'}/{NAME}", "--namespace", self.namespace]
        command += ["--kubeconfig", str(kubeconfig or self.rights), "--elastic", ELASTIC]
        number = len(list(self.folder.glob("autoscale-*.out")))
        return Process([*command, *words], self.folder, f"autoscale-{number}", environment=isolated())

    def send(self, bodies: list[str]) -> None:
        for at in range(0, len(bodies), 10):
            self.client.send_batch(self.queue, bodies[at : at + 10])

    def held(self) -> int:
        told = self.client.attributes(self.queue, ["All"])
        return sum(int(told[f"ApproximateNumberOfMessages{what}"]) for what in ("", "NotVisible", "Delayed"))

    def parts(self) -> int:
        return len(self.client.physical_queues(self.queue))

    def pods(self) -> list[Any]:
        """By name."""

        async def ask(api: kube.ApiClient) -> list[Any]:
            found = await kube.CoreV1Api(api).list_namespaced_pod(self.namespace)
            return sorted(found.items, key=lambda pod: pod.metadata.name)

        return self.plane.ask(ask)

    def ready(self) -> list[str]:
        """The names of pods that are, and stay."""
        return [
            pod.metadata.name
            for pod in self.pods()
            if not pod.metadata.deletion_timestamp
            and any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())
        ]

    def lose(self, pod: str) -> None:
        """As when its machine is gone."""

        async def ask(api: kube.ApiClient) -> None:
            await kube.CoreV1Api(api).delete_namespaced_pod(pod, self.namespace, grace_period_seconds=0)

        self.plane.ask(ask)

    def _has_no_pods(self) -> bool:
        return not self.pods()

    def remove(self) -> None:
        """The workload, and its pods at once."""

        async def ask(api: kube.ApiClient) -> None:
            apps = kube.AppsV1Api(api)
            for remove in (
                apps.delete_collection_namespaced_stateful_set,
                apps.delete_collection_namespaced_deployment,
            ):
                await remove(self.namespace)

        self.plane.ask(ask)
