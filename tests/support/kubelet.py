"""Stands in for a node: runs the command of each pod's container as a local process, and tells the API how it does.

What it knows of a pod: command, args and env of its one container, exec readiness probes, SIGTERM and the grace that
follows, and that a container that ends is started again. A mounted folder is a local one, put into the words of the
command in place of its mount path.
"""

import asyncio
import base64
import contextlib
import re
import signal
import sys
import threading
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

from kubernetes.aio import client, watch

from tests.support.controlplane import connected
from tests.support.environment import isolated

_MERGE = "application/merge-patch+json"
_PROBE_S = 0.1
# A container that ends waits so long until it is started again.
_AGAIN_S = 0.3


class Kubelet:
    """Runs in a thread of its own. ``node`` is made when it starts."""

    def __init__(self, admin: Path, folder: Path, node: str = "node-1") -> None:
        self._admin = admin
        self._folder = folder
        self._node = node
        self._loop = asyncio.new_event_loop()
        self._containers: dict[str, _Container] = {}
        self._started = threading.Event()
        self._wrong: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="kubelet")

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(60), "the node could not be made"

    def stop(self) -> None:
        """Its processes end at once. Raises what has gone wrong."""
        self._loop.call_soon_threadsafe(self._watching.cancel)
        self._thread.join()
        assert not self._wrong, self._wrong

    def pid(self, pod: str) -> int | None:
        """The process of a pod, if one runs."""
        found = [each.process for each in self._containers.values() if each.name == pod and each.process is not None]
        return found[0].pid if found else None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._watching = self._loop.create_task(self._work())
        self._loop.run_until_complete(self._watching)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _work(self) -> None:
        async with await connected(self._admin) as api:
            core = client.CoreV1Api(api)
            await self._make_node(core)
            self._started.set()
            try:
                while True:
                    # A watch ends when the server says so.
                    await self._watch(core)
            except asyncio.CancelledError:
                # It was told to stop.
                pass
            finally:
                for each in self._containers.values():
                    each.task.cancel()
                await asyncio.gather(*(each.task for each in self._containers.values()), return_exceptions=True)
        # Connections with TLS end a moment after the session.
        await asyncio.sleep(0.25)

    async def _make_node(self, core: Any) -> None:
        room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        await core.create_node({"metadata": {"name": self._node}})
        # A new node is tainted as not ready, and no controller here takes that away.
        await core.patch_node(self._node, {"spec": {"taints": None}}, _content_type=_MERGE)
        status = {"status": {"capacity": room, "allocatable": room, "conditions": ready}}
        await core.patch_node_status(self._node, status, _content_type=_MERGE)

    async def _watch(self, core: Any) -> None:
        selector = f"spec.nodeName={self._node}"
        async for event in watch.Watch().stream(core.list_pod_for_all_namespaces, field_selector=selector):
            pod = event["object"]
            uid = pod.metadata.uid
            if event["type"] == "ADDED" and uid not in self._containers:
                self._containers[uid] = _Container(core, pod, self._folder / uid)
                self._containers[uid].task.add_done_callback(self._look)
            found = self._containers.get(uid)
            if found is None:
                continue
            if event["type"] == "DELETED":
                # At once, by force: as when the machine is lost.
                found.task.cancel()
                del self._containers[uid]
            elif pod.metadata.deletion_timestamp:
                found.end()

    def _look(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._wrong.append(error)


class _Container:
    """The only one of a pod."""

    def __init__(self, core: Any, pod: Any, folder: Path) -> None:
        self.name = pod.metadata.name
        self.process: Process | None = None
        self._core = core
        self._pod = pod
        self._spec = pod.spec.containers[0]
        self._folder = folder
        self._restarts = 0
        self._ending = asyncio.Event()
        self.task = asyncio.ensure_future(self._live())

    def end(self) -> None:
        self._ending.set()

    async def _live(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        environment = await self._environment()
        words = [self._local(word, environment) for word in [*self._spec.command, *(self._spec.args or ())]]
        words[0] = str(Path(sys.executable).with_name(words[0]))
        try:
            while not self._ending.is_set():
                await self._live_once(words, environment)
                self._restarts += 1
            await self._core.delete_namespaced_pod(self.name, self._pod.metadata.namespace, grace_period_seconds=0)
        except client.ApiException as error:
            # It has gone meanwhile.
            if error.status != 404:
                raise
        finally:
            if self.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self.process.kill()
                await self.process.wait()

    async def _live_once(self, words: list[str], environment: dict[str, str]) -> None:
        with (self._folder / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *words, env=environment, stdout=log, stderr=log, cwd=self._folder
            )
        running = asyncio.ensure_future(self.process.wait())
        ending = asyncio.ensure_future(self._ending.wait())
        probing = asyncio.ensure_future(self._probe(environment))
        try:
            await self._tell(is_ready=False)
            await asyncio.wait((running, ending), return_when=asyncio.FIRST_COMPLETED)
            probing.cancel()
            if not running.done():
                await self._terminate(running)
            await running
            self.process = None
            if not self._ending.is_set():
                await self._tell(is_ready=False)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), _AGAIN_S)
        finally:
            for task in (running, ending, probing):
                task.cancel()
            await asyncio.gather(running, ending, probing, return_exceptions=True)

    async def _terminate(self, running: "asyncio.Future[int]") -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        _, late = await asyncio.wait((running,), timeout=self._pod.spec.termination_grace_period_seconds)
        if late:
            self.process.kill()

    async def _probe(self, environment: dict[str, str]) -> None:
        """Ready once the probe succeeds."""
        probe = self._spec.readiness_probe
        while probe is not None:
            words = [self._local(word, environment) for word in probe._exec.command]
            asked = await asyncio.create_subprocess_exec(
                *words, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
            )
            if await asked.wait() == 0:
                break
            await asyncio.sleep(_PROBE_S)
        await self._tell(is_ready=True)

    async def _tell(self, is_ready: bool) -> None:
        told = "True" if is_ready else "False"
        container = {
            "name": self._spec.name,
            "image": self._spec.image,
            "imageID": "",
            "ready": is_ready,
            "restartCount": self._restarts,
            "state": {"running": {}},
        }
        conditions = [{"type": kind, "status": told} for kind in ("Ready", "ContainersReady")]
        conditions += [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized")]
        status = {"status": {"phase": "Running", "conditions": conditions, "containerStatuses": [container]}}
        await self._core.patch_namespaced_pod_status(
            self.name, self._pod.metadata.namespace, status, _content_type=_MERGE
        )

    # What it runs.

    def _local(self, word: str, environment: dict[str, str]) -> str:
        word = re.sub(r"\$\((\w+)\)", lambda match: environment.get(match[1], match[0]), word)
        for mount in self._spec.volume_mounts or ():
            word = re.sub(rf"^(--\S+=)?{re.escape(mount.mount_path)}/", rf"\g<1>{self._folder}/", word)
        return word

    async def _environment(self) -> dict[str, str]:
        found = isolated()
        for each in self._spec.env_from or ():
            secret = await self._core.read_namespaced_secret(each.secret_ref.name, self._pod.metadata.namespace)
            found |= {name: base64.b64decode(value).decode() for name, value in secret.data.items()}
        for each in self._spec.env or ():
            if each.value_from is None:
                found[each.name] = each.value
            else:
                label = re.fullmatch(r"metadata\.labels\['(.+)'\]", each.value_from.field_ref.field_path)
                assert label is not None
                found[each.name] = self._pod.metadata.labels[label[1]]
        return found
