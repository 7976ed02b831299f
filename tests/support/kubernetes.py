"""A small API server that knows the calls of our provisioner and refuses all others: what a call may be is checked."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.support.manifest import Right

NAMESPACE = "shop"
NAME = "jobs-worker"
TOKEN = "a-token"
PATCH = "application/merge-patch+json"
MADE = "2026-01-01T00:00:00Z"
READY = "2026-01-01T00:00:07Z"


class Api:
    """Holds one workload, and its pods; a test changes what it likes. ``calls`` are as a Role names them."""

    def __init__(self, kind: str = "statefulset") -> None:
        self.resource = f"{kind}s"
        self.replicas = 0
        self.version = itertools.count(1)
        self.now = next(self.version)
        self.pods: dict[str, dict[str, Any]] = {}
        self.calls: list[Right] = []
        self.sizes: list[int] = []
        # What the next calls are answered with; None: what they ask for.
        self.faults: list[tuple[int, str] | web.Response | None] = []
        # It answers nothing while this is not set.
        self.answers = asyncio.Event()
        self.answers.set()
        # Somebody else, who changes the workload before a change arrives.
        self.rivals = 0
        self.wrong: list[str] = []

    # What a test makes.

    def pod(self, name: str, owner: tuple[str, str] | None = None, **changed: Any) -> dict[str, Any]:
        """One that runs; ``changed`` are parts of its status."""
        kind, by = owner or ("StatefulSet", NAME)
        found: dict[str, Any] = {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "namespace": NAMESPACE,
                "labels": {"app": "jobs-worker"},
                "creationTimestamp": MADE,
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": kind, "name": by, "uid": "u", "controller": True}
                ],
            },
            "spec": {"nodeName": "node-1", "containers": [{"name": "worker", "image": "rockdove"}]},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": READY}],
                "containerStatuses": [container(0)],
                **changed,
            },
        }
        self.pods[name] = found
        return found

    def ordinals(self, *numbers: int) -> None:
        """Pods of the StatefulSet as they are wanted."""
        for number in numbers:
            self.pod(f"{NAME}-{number}")
        self.replicas = max(self.replicas, max(numbers, default=-1) + 1)

    # What a provisioner asks for.

    async def answer(self, request: web.Request) -> web.Response:
        try:
            right = self._right(request)
        except ValueError as error:
            self.wrong.append(str(error))
            return status(400, str(error))
        self.calls.append(right)
        await self.answers.wait()
        if self.faults and (fault := self.faults.pop(0)) is not None:
            return fault if isinstance(fault, web.Response) else status(*fault)
        if right.resource == "pods":
            return self._list(request)
        if right.verb == "patch":
            return await self._patch(request)
        return web.json_response(self._scale())

    def _right(self, request: web.Request) -> Right:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise ValueError(f"who asks is not told: {request.headers.get('Authorization')}")
        if request.method == "GET" and request.path == f"/api/v1/namespaces/{NAMESPACE}/pods":
            return Right("list", "", "pods", None)
        verb = {"GET": "get", "PATCH": "patch"}.get(request.method)
        if verb is None or request.path != f"/apis/apps/v1/namespaces/{NAMESPACE}/{self.resource}/{NAME}/scale":
            raise ValueError(f"nobody should ask for {request.method} {request.path}")
        if request.query_string:
            raise ValueError(f"a scale takes no {request.query_string}")
        return Right(verb, "apps", f"{self.resource}/scale", NAME)

    def _list(self, request: web.Request) -> web.Response:
        if dict(request.query) != {"labelSelector": "app=jobs-worker"}:
            self.wrong.append(f"pods by {request.query_string}")
        return web.json_response(
            {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(self.pods.values())}
        )

    async def _patch(self, request: web.Request) -> web.Response:
        if request.content_type != PATCH:
            self.wrong.append(f"a patch as {request.content_type}")
            return status(415, "the body of the request was in an unknown format")
        body = json.loads(await request.read())
        if body.keys() != {"metadata", "spec"} or body["metadata"].keys() != {"resourceVersion"}:
            self.wrong.append(f"a patch of {body}")
        if self.rivals:
            self.rivals -= 1
            self.now = next(self.version)
        if body["metadata"]["resourceVersion"] != str(self.now):
            return status(409, "the object has been modified")
        if body["spec"].keys() != {"replicas"} or type(body["spec"]["replicas"]) is not int:
            self.wrong.append(f"a patch of {body}")
        if body["spec"]["replicas"] < 0:
            return status(422, "spec.replicas: Invalid value: must be greater than or equal to 0")
        if body["spec"]["replicas"] != self.replicas:
            self.replicas = body["spec"]["replicas"]
            self.now = next(self.version)
        self.sizes.append(self.replicas)
        return web.json_response(self._scale())

    def _scale(self) -> dict[str, Any]:
        # As the real one: 0 is left out of the spec.
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "resourceVersion": str(self.now)},
            "spec": {"replicas": self.replicas} if self.replicas else {},
            "status": {"replicas": len(self.pods), "selector": "app=jobs-worker"},
        }


def container(restarts: int, **state: Any) -> dict[str, Any]:
    return {
        "name": "worker",
        "image": "rockdove",
        "imageID": "",
        "ready": True,
        "restartCount": restarts,
        "state": state or {"running": {"startedAt": MADE}},
    }


def status(code: int, message: str) -> web.Response:
    document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return web.json_response(document, status=code)


@asynccontextmanager
async def serving(api: Api) -> AsyncIterator[str]:
    """The address where it listens; at the end, nothing wrong may have been asked."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", api.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
    assert not api.wrong


def kubeconfig(path: Path, server: str, **cluster: Any) -> Path:
    """A file as kubectl has one."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "t",
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}],
        "clusters": [{"name": "t", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "t", "user": {"token": TOKEN}}],
    }
    path.write_text(json.dumps(document))
    return path
