"""Workers on Kubernetes, through its own client, against a server that checks every call."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from rockdove.client import AsyncClient, Client
from rockdove.elastic.controller import Controller
from rockdove.elastic.measure import Measure
from rockdove.elastic.provision.base import (
    NothingToScale,
    ProvisionerAway,
    ProvisionerRefuses,
    ProvisionerTrouble,
    Seen,
)
from rockdove.elastic.provision.kubernetes import TRIES, KubernetesProvisioner
from rockdove.elastic.provision.pod import Kind, Pod, troubles
from rockdove.elastic.state import Published
from tests.support.kubernetes import NAME, NAMESPACE, Api, container, kubeconfig, serving
from tests.support.manifest import document, rights
from tests.support.port import free_port

SETTINGS = '{"periodS": 0.1, "minLoad": 2, "maxLoad": 5, "maxWorkers": 2, "safetyS": 0}'

Scenario = Callable[[KubernetesProvisioner], Awaitable[None]]


def play(tmp_path: Path, api: Api, scenario: Scenario, kind: Kind = Kind.STATEFUL_SET) -> None:
    async def run() -> None:
        async with serving(api) as server:
            file = kubeconfig(tmp_path / "config", server)
            provisioner = await KubernetesProvisioner.open(kind, NAME, NAMESPACE, file)
            api.calls.clear()
            api.sizes.clear()
            try:
                await scenario(provisioner)
            finally:
                await provisioner.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def numbers(seen: list[Seen]) -> dict[int, str]:
    return {each.number: "draining" if each.is_draining else "ready" if each.is_ready else "not" for each in seen}


# What is asked for.


def test_it_grows_and_shrinks_from_the_end(tmp_path: Path) -> None:
    api = Api()

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        for number in range(3):
            await provisioner.start(number)
        assert api.sizes == [1, 2, 3]
        # Those that are wanted already.
        before = len(api.calls)
        for number in range(3):
            await provisioner.start(number)
        assert len(api.calls) == before
        await provisioner.drain(2)
        await provisioner.stop(1)
        assert api.sizes == [1, 2, 3, 2, 1]
        await provisioner.start(1)
        await provisioner.drain(0)
        assert api.replicas == 2

    play(tmp_path, api, scenario)


def test_one_in_the_middle_goes_when_those_after_it_go(tmp_path: Path) -> None:
    api = Api()
    api.ordinals(0, 1, 2, 3)

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        await provisioner.list()
        await provisioner.drain(1)
        await provisioner.drain(2)
        assert not api.sizes
        assert numbers(await provisioner.list()) == {0: "ready", 1: "draining", 2: "draining", 3: "ready"}
        # Who wants it again has it.
        await provisioner.start(1)
        assert numbers(await provisioner.list())[1] == "ready"
        await provisioner.drain(3)
        assert api.sizes == [2]
        # They are still there for a while.
        assert numbers(await provisioner.list()) == {0: "ready", 1: "ready", 2: "draining", 3: "draining"}

    play(tmp_path, api, scenario)


def test_a_change_of_somebody_else_is_seen(tmp_path: Path) -> None:
    api = Api()
    api.ordinals(0)

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        await provisioner.list()
        api.rivals = TRIES - 1
        await provisioner.start(1)
        assert api.replicas == 2
        # Somebody wanted more: they stay.
        await provisioner.list()
        api.replicas, api.now = 5, next(api.version)
        await provisioner.start(2)
        assert api.replicas == 5
        await provisioner.list()
        api.rivals = TRIES
        with pytest.raises(ProvisionerTrouble, match=f"^{TRIES} times, somebody else has changed {NAME}"):
            await provisioner.start(7)
        assert api.replicas == 5

    play(tmp_path, api, scenario)


@pytest.mark.parametrize(
    ("kind", "file"), [(Kind.STATEFUL_SET, "rbac.yaml"), (Kind.DEPLOYMENT, "workers-deployment.yaml")]
)
def test_the_role_grants_what_is_asked_for_and_no_more(tmp_path: Path, kind: Kind, file: str) -> None:
    api = Api(kind.value)
    asked = set()

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        await provisioner.start(3)
        await provisioner.list()
        await provisioner.drain(3)
        await provisioner.stop(2)
        asked.update(api.calls)

    play(tmp_path, api, scenario, kind)
    assert asked == set(rights(document(file, "Role")))


# What is seen.


def test_pods_of_a_statefulset_are_numbered_by_their_ordinals(tmp_path: Path) -> None:
    api = Api()
    api.ordinals(0, 1, 10)
    api.pod(f"{NAME}-x")
    api.pod(f"{NAME}-2", owner=("Job", NAME))
    api.pods[f"{NAME}-1"]["spec"]["nodeName"] = "node-2"

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        seen = await provisioner.list()
        assert [each.number for each in seen] == list(range(11))
        assert seen[0] == Seen(0, "node-1", f"uid-{NAME}-0 0", is_ready=True)
        assert seen[10].life == f"uid-{NAME}-10 0"
        # Wanted, and not made yet.
        assert seen[2] == Seen(2, "", "", is_ready=False)
        assert all(each.done is None for each in seen)
        assert provisioner.machines == 2
        assert provisioner.start_s == 7

    play(tmp_path, api, scenario)


def test_one_that_does_not_run_is_not_ready(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    api = Api()
    api.ordinals(0, 1, 2, 3, 4, 5)
    not_ready = [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T01:00:00Z"}]
    unknown = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T01:00:00Z"}]
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are free"}
    pulled = container(0, waiting={"reason": "ImagePullBackOff", "message": "no such image"})
    api.pod(f"{NAME}-0", conditions=not_ready)
    # Its node is lost.
    api.pod(f"{NAME}-1", conditions=unknown)
    api.pod(f"{NAME}-2", phase="Unknown")
    api.pod(f"{NAME}-3", phase="Pending", conditions=[scheduled], containerStatuses=None)
    api.pod(f"{NAME}-4", phase="Pending", conditions=not_ready, containerStatuses=[pulled])
    api.pod(f"{NAME}-5", containerStatuses=[container(3)])

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        for _ in range(2):
            seen = await provisioner.list()
            assert numbers(seen) == dict.fromkeys(range(5), "not") | {5: "ready"}
        # It was started again, so nobody knows how long that took.
        assert seen[5].life == f"uid-{NAME}-5 3"
        assert provisioner.start_s == 0
        api.pods[f"{NAME}-0"]["metadata"]["deletionTimestamp"] = "2026-01-01T02:00:00Z"
        assert numbers(await provisioner.list())[0] == "draining"

    with caplog.at_level(logging.WARNING, "rockdove"):
        play(tmp_path, api, scenario)
    assert caplog.messages == [
        f"pod {NAME}-3: Unschedulable: 0/3 nodes are free",
        f"pod {NAME}-4: ImagePullBackOff: no such image",
        f"pod {NAME}-0: it should have ended long ago; if its node (node-1) is lost, delete that node",
    ]


def test_one_that_is_ending_has_its_time() -> None:
    pod = Pod(name="a", uid="u", owner=("StatefulSet", "s"), node="n", ends_s=1_000)
    assert not troubles([pod], 1_060)
    assert troubles([pod], 1_061)


def test_pods_of_a_deployment_are_ranked(tmp_path: Path) -> None:
    api = Api("deployment")
    api.replicas = 3
    replica_set = ("ReplicaSet", f"{NAME}-5d4f")
    for name, made in [("a", "03"), ("b", "01"), ("c", "02"), ("surge", "04")]:
        api.pod(name, replica_set)["metadata"]["creationTimestamp"] = f"2026-01-{made}T00:00:00Z"
    api.pod("evicted", replica_set, phase="Failed")
    api.pod("stranger", ("ReplicaSet", "another-5d4f"))
    api.pods["b"]["status"]["conditions"] = []
    api.pod("old", replica_set)["metadata"]["deletionTimestamp"] = "2999-01-01T00:00:00Z"

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        seen = await provisioner.list()
        assert [each.life for each in seen] == ["uid-c 0", "uid-a 0", "uid-surge 0", "uid-old 0"]
        assert numbers(seen) == {0: "ready", 1: "ready", 2: "ready", 3: "draining"}
        # One that is not ready comes last, and one that is wanted and is not there.
        del api.pods["surge"], api.pods["a"]
        seen = await provisioner.list()
        assert [each.life for each in seen] == ["uid-c 0", "uid-b 0", "", "uid-old 0"]
        assert numbers(seen) == {0: "ready", 1: "not", 2: "not", 3: "draining"}
        await provisioner.drain(2)
        assert api.replicas == 2

    play(tmp_path, api, scenario, Kind.DEPLOYMENT)


# Trouble.


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (401, ProvisionerRefuses, r"^Kubernetes does not know who asks \(401\): because; renew the token$"),
        (403, ProvisionerRefuses, r"^Kubernetes refuses \(403\): because; give rights as deploy/kubernetes/rbac"),
        (404, NothingToScale, f"^there is no statefulset {NAME} in namespace {NAMESPACE}; name it with --workload"),
        (422, ProvisionerRefuses, r"^Kubernetes refuses \(422\): because$"),
        (429, ProvisionerAway, r"^Kubernetes asks to wait \(429\): because$"),
        (500, ProvisionerAway, r"^Kubernetes is in trouble \(500\): because$"),
    ],
)
def test_what_the_api_refuses_is_told(tmp_path: Path, code: int, kind: type[Exception], told: str) -> None:
    api = Api()

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        for before in (0, 1):
            calls: list[tuple[int, Callable[[], Awaitable[object]]]] = [
                (0, provisioner.list),
                (0, lambda: provisioner.start(0)),
                (1, lambda: provisioner.drain(0)),
            ]
            for replicas, call in calls:
                api.replicas = replicas
                await provisioner.list()
                api.faults = [*[None] * before, (code, "because")]
                with pytest.raises(kind, match=told):
                    await call()

    play(tmp_path, api, scenario)


@pytest.mark.parametrize("call", [0, 1, 2], ids=["scale", "pods", "patch"])
def test_a_missing_right_is_told_at_the_start(tmp_path: Path, call: int) -> None:
    api = Api()

    async def run() -> None:
        async with serving(api) as server:
            api.faults = [*[None] * call, (403, "jobs-scaler cannot do that")]
            file = kubeconfig(tmp_path / "config", server)
            with pytest.raises(ProvisionerRefuses, match="jobs-scaler cannot do that"):
                await KubernetesProvisioner.open(Kind.STATEFUL_SET, NAME, NAMESPACE, file)

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
@pytest.mark.parametrize("text", ["<html>Sign in</html>", "{}", "[]", "null", ""])
def test_an_answer_of_something_else_is_told(tmp_path: Path, kind: str, text: str) -> None:
    """Such as that of a proxy."""
    api = Api()

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        for before in (0, 1):
            api.faults = [*[None] * before, web.Response(text=text, content_type=kind)]
            with pytest.raises(ProvisionerAway, match=r"^http://127.0.0.1:\d+ does not answer as Kubernetes does: "):
                await provisioner.list()

    play(tmp_path, api, scenario)


def test_an_api_that_says_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        monkeypatch.setattr("rockdove.elastic.provision.cluster.CALL_S", 0.1)
        api.answers.clear()
        with pytest.raises(ProvisionerAway, match=r"^Kubernetes cannot be reached at http://127.0.0.1:\d+: Time"):
            await provisioner.list()
        api.answers.set()

    play(tmp_path, api, scenario)


def test_an_api_that_is_away_is_told(tmp_path: Path) -> None:
    port = free_port()
    file = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    opening = KubernetesProvisioner.open(Kind.STATEFUL_SET, NAME, NAMESPACE, file)
    with pytest.raises(ProvisionerAway, match=f"^Kubernetes cannot be reached at http://127.0.0.1:{port}: "):
        asyncio.run(opening)


@pytest.mark.parametrize("text", ["", "{", "nonsense: [", '{"clusters": []}'])
def test_a_kubeconfig_that_says_nothing_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ProvisionerTrouble, match="config does not say how to reach Kubernetes: "):
        asyncio.run(KubernetesProvisioner.open(Kind.STATEFUL_SET, NAME, NAMESPACE, file))


# With the controller.


def test_the_controller_goes_on_after_trouble(
    tmp_path: Path, endpoint: str, client: Client, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api()
    client.set_attributes(queue, {"RockdoveElastic": SETTINGS})

    async def scenario(provisioner: KubernetesProvisioner) -> None:
        seen: list[Published] = []

        async with AsyncClient(endpoint) as asking:
            controller = Controller(
                asking, queue, "one", provisioner, Measure(1), lambda published, paused: seen.append(published)
            )

            async def grown(size: int) -> None:
                while api.replicas != size:
                    await asyncio.sleep(min(await controller._patiently(), 0.01))

            await grown(1)
            # Nothing is decided while nobody knows which workers there are.
            api.faults = [(503, "a moment")] * 2
            known = len(seen)
            assert await controller._patiently() == 1
            assert await controller._patiently() == 1
            assert len(seen) == known
            assert len(client.physical_queues(queue)) == 1
            # What was decided stands, though the change is refused.
            api.ordinals(0)
            for _ in range(4):
                client.send_batch(queue, list("0123456789"))
            api.rivals = TRIES
            await controller._patiently()
            assert not api.rivals
            assert [each.act.value for each in seen[-1].decisions] == ["add"]
            assert len(client.physical_queues(queue)) == 2
            await grown(2)
            api.ordinals(0, 1)
            await controller._patiently()
            await controller._patiently()
            assert [each.done for each in seen[-1].workers[:2]] == [None, None]
            assert seen[-1].arrival is None
            # Without what was done, they share by what they hold: the new one has nothing, and gets more.
            first, second = (each.weight for each in client.physical_queues(queue)[:2])
            assert second > first > 0

    with caplog.at_level(logging.WARNING, "rockdove"):
        play(tmp_path, api, scenario)
    assert caplog.messages[0] == (
        "nobody knows which workers there are, nothing is decided: Kubernetes is in trouble (503): a moment"
    )
    assert any(text.startswith("workers cannot be started or drained: ") for text in caplog.messages)
