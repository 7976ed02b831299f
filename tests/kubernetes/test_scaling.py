"""A queue grows its workers as pods on a real control plane, with the rights of deploy/kubernetes and no other."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from kubernetes.aio import client as kube
from kubernetes.aio.config import incluster_config

from rockdove.elastic.provision.base import ProvisionerRefuses, Seen
from rockdove.elastic.provision.cluster import Cluster, Conflict, connect
from rockdove.elastic.provision.kubernetes import KubernetesProvisioner
from rockdove.elastic.provision.pod import Kind
from tests.kubernetes.shop import DEADLINE_S, NAME, Shop, wait_until
from tests.support.manifest import FOLDER, documents

# The lock keeps lines of different workers apart.
WORK = "sh -c 'sleep 0.05; flock {out} sh -c \"cat >> {out}\"'"
FILES = ["workers.yaml", "workers-deployment.yaml"]


@pytest.mark.parametrize("file", FILES)
def test_a_queue_grows_its_own_workers(shop: Shop, file: str) -> None:
    """A worker is killed, a machine is lost, and the controller is killed; no message is."""
    shop.apply(file, WORK.format(out=shop.out))
    first = shop.autoscale("--json")
    bodies = [f"{at}\n" for at in range(200)]
    with first:
        shop.send(bodies[:100])
        wait_until(lambda: len(shop.ready()) == 3, "it has not grown")
        # By now all three get some.
        shop.send(bodies[100:])
        killed, lost, _ = shop.ready()
        pid = shop.kubelet.pid(killed)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        before = {pod.metadata.uid for pod in shop.pods()}
        shop.lose(lost)
        wait_until(lambda: any(_restarts(pod) for pod in shop.pods()), "nothing was started again")
        wait_until(lambda: bool({pod.metadata.uid for pod in shop.pods()} - before), "no pod came for the lost one")
        assert first.exit_code is None, first.output()
        first.kill()
    with shop.autoscale("--json", "--drain") as second:
        wait_until(lambda: shop.held() == 0, "messages are left")
        wait_until(lambda: shop.parts() == 1, "it has not shrunk")
        wait_until(lambda: len(shop.pods()) == 1, "pods are left")
        if file == "workers.yaml":
            assert [pod.metadata.name for pod in shop.pods()] == [f"{NAME}-0"]
        assert second.stop(DEADLINE_S) == 0
    assert set(shop.out.read_text().split()) == {body.strip() for body in bodies}
    assert not shop.pods()
    rounds = [json.loads(line) for line in second.out.read_text().splitlines()]
    acts = [each["act"] for each in rounds[-1]["decisions"]]
    # Those of the first controller are among them.
    assert "add" in acts
    assert "remove" in acts
    assert rounds[-1]["machines"] == 1
    # It may have had to wait until the first one's hold was over.
    told = [line for line in second.err.read_text().splitlines() if "waiting: " not in line]
    assert not [line for line in told if "rockdove autoscale" in line]


def _restarts(pod: kube.V1Pod) -> int:
    return sum(each.restart_count for each in pod.status.container_statuses or ())


# One step at a time.


def play(shop: Shop, scenario: Callable[[KubernetesProvisioner], Awaitable[None]]) -> None:
    rights = shop.rights

    async def run() -> None:
        opened = await KubernetesProvisioner.open(Kind(shop.kind), NAME, shop.namespace, rights)
        try:
            await asyncio.wait_for(scenario(opened), DEADLINE_S)
        finally:
            await opened.close()

    asyncio.run(run())


async def until(provisioner: KubernetesProvisioner, is_so: Callable[[list[Seen]], bool]) -> list[Seen]:
    while not is_so(seen := await provisioner.list()):
        await asyncio.sleep(0.05)
    return seen


@pytest.mark.parametrize("file", FILES)
def test_what_a_worker_has_is_finished_when_it_goes(shop: Shop, file: str) -> None:
    """SIGTERM, and no second delivery."""
    begun, go = shop.folder / "begun", shop.folder / "go"
    shop.apply(file, f"sh -c 'cat >> {begun}; while [ ! -e {go} ]; do sleep 0.05; done; echo done >> {shop.out}'")

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        await provisioner.start(0)
        await until(provisioner, lambda seen: [each.is_ready for each in seen] == [True])
        assert provisioner.start_s >= 0
        shop.client.send(shop.queue, "x")
        while not begun.exists():
            await asyncio.sleep(0.05)
        await provisioner.drain(0)
        (seen,) = await until(provisioner, lambda seen: seen[0].is_draining)
        assert seen.machine == "node-1"
        # It has begun, so it is not hurried.
        for _ in range(5):
            assert len(await provisioner.list()) == 1
            await asyncio.sleep(0.1)
        # What comes now is for others.
        shop.client.send(shop.queue, "y")
        go.touch()
        await until(provisioner, lambda seen: not seen)

    play(shop, scenario)
    assert shop.out.read_text() == "done\n"
    assert begun.read_text() == "x"
    assert shop.held() == 1


def test_workers_have_their_own_physical_queues(shop: Shop) -> None:
    shop.apply("workers.yaml", f"sh -c 'echo $ORDINAL $(cat) >> {shop.out}'")
    shop.client.set_attributes(shop.queue, {"RockdovePhysicalQueues": "2"})
    url = shop.client.queue_url(shop.queue)

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        await provisioner.start(1)
        seen = await until(provisioner, lambda seen: all(each.is_ready for each in seen))
        assert [each.number for each in seen] == [0, 1]
        for number in (1, 0, 1):
            shop.client.send(f"{url}~{number}", f"for-{number}")
        while not shop.out.exists() or len(shop.out.read_text().splitlines()) < 3:
            await asyncio.sleep(0.05)

    play(shop, scenario)
    assert sorted(shop.out.read_text().splitlines()) == ["0 for-0", "1 for-1", "1 for-1"]


# Wrong rights, and what the API says itself.


def test_without_rights_it_says_which_are_missing(shop: Shop) -> None:
    shop.apply("workers.yaml", "true")

    async def take(api: kube.ApiClient) -> None:
        await kube.RbacAuthorizationV1Api(api).delete_namespaced_role_binding("jobs-scaler", shop.namespace)

    shop.plane.ask(take)
    process = shop.autoscale()
    wait_until(lambda: process.exit_code is not None, "it goes on without rights")
    assert process.exit_code == 5
    told = process.err.read_text()
    assert told.startswith("rockdove: Kubernetes refuses (403): ")
    assert "cannot get resource" in told
    assert told.endswith("; give rights as deploy/kubernetes/rbac.yaml does\n")


def test_each_right_is_needed(shop: Shop) -> None:
    shop.apply("workers.yaml", "true")
    (role,) = (each for each in documents("rbac.yaml") if each["kind"] == "Role")
    scale, pods = role["rules"]
    for rules, verb in [
        ([{**scale, "verbs": ["get"]}, pods], "patch"),
        ([{**scale, "verbs": ["patch"]}, pods], "get"),
        ([scale], "list"),
    ]:
        _grant(shop, rules)
        with pytest.raises(ProvisionerRefuses, match=f"cannot {verb} resource"):
            play(shop, _nothing)
    _grant(shop, role["rules"])
    play(shop, _nothing)


def _grant(shop: Shop, rules: list[object]) -> None:
    async def ask(api: kube.ApiClient) -> None:
        await kube.RbacAuthorizationV1Api(api).patch_namespaced_role(
            "jobs-scaler", shop.namespace, {"rules": rules}, _content_type="application/merge-patch+json"
        )

    shop.plane.ask(ask)


async def _nothing(provisioner: KubernetesProvisioner) -> None: ...


def test_rights_that_are_taken_away_do_not_end_it(shop: Shop) -> None:
    # Slow enough that a backlog is left when the controller looks again.
    shop.apply("workers.yaml", WORK.format(out=shop.out))
    (role,) = (each for each in documents("rbac.yaml") if each["kind"] == "Role")
    with shop.autoscale() as process:
        wait_until(lambda: len(shop.ready()) == 1, "there is no worker")
        _grant(shop, [])
        wait_until(lambda: "nothing is decided: Kubernetes refuses (403)" in process.err.read_text(), "it is not told")
        _grant(shop, role["rules"])
        shop.send([str(at) for at in range(200)])
        wait_until(lambda: shop.parts() > 1, "it has not gone on")
        assert process.stop(DEADLINE_S) == 0


def test_a_workload_that_is_not_there_is_told(shop: Shop) -> None:
    process = shop.autoscale(kubeconfig=shop.plane.admin)
    wait_until(lambda: process.exit_code is not None, "it goes on without a workload")
    assert process.exit_code == 3
    assert process.err.read_text() == (
        f"rockdove: there is no statefulset {NAME} in namespace {shop.namespace}; name it with --workload and "
        "--namespace\n"
    )


@pytest.mark.parametrize("file", FILES)
def test_what_the_api_refuses_has_its_meaning(shop: Shop, file: str) -> None:
    shop.apply(file, "true")
    rights = shop.rights

    async def run() -> None:
        cluster: Cluster = await connect(Kind(shop.kind), NAME, shop.namespace, rights)
        try:
            scale = await cluster.scale()
            assert (scale.replicas, scale.selector) == (0, "app=jobs-worker")
            with pytest.raises(
                ProvisionerRefuses, match=r"^Kubernetes refuses \(422\): .*must be greater than or equal"
            ):
                await cluster.resize(scale, -1)
            # Two who have read the same.
            await cluster.resize(scale, 1)
            with pytest.raises(Conflict):
                await cluster.resize(scale, 2)
            assert (await cluster.scale()).replicas == 1
        finally:
            await cluster.close()

    asyncio.run(run())


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.yaml")))
def test_the_api_takes_our_files(shop: Shop, file: str) -> None:
    found = documents(file)
    for each in found:
        for subject in each.get("subjects", ()):
            subject["namespace"] = shop.namespace
    shop.plane.create(shop.namespace, found, dry_run="All", field_validation="Strict")


def test_in_a_pod_it_is_the_service_account(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variables and the files that Kubernetes gives to a pod."""
    shop.apply("workers.yaml", "true")
    token, namespace = tmp_path / "token", tmp_path / "namespace"
    token.write_text(shop.plane.token(shop.namespace, "jobs-scaler"))
    namespace.write_text(shop.namespace)
    host, _, port = shop.plane.server.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(shop.plane.certificate))
    monkeypatch.setattr("rockdove.elastic.provision.cluster._NAMESPACE_FILE", namespace)

    async def run() -> int:
        cluster = await connect(Kind.STATEFUL_SET, NAME, None, None)
        try:
            return (await cluster.scale()).replicas
        finally:
            await cluster.close()

    assert asyncio.run(run()) == 0
