"""A real control plane of Kubernetes on free ports: etcd, API server, controllers and scheduler, without a node."""

import asyncio
import secrets
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from kubernetes.aio import client, config, utils

from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.process import Process

T = TypeVar("T")

# `make test-kube` builds it.
PROGRAM = Path(__file__).parents[2] / ".setup" / "kube" / "controlplane"
_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "serviceaccount-controller",
    "garbage-collector-controller",
    "namespace-controller",
)
_START_TIMEOUT_S = 120
_END_TIMEOUT_S = 60


class ControlPlane:
    """Runs once constructed. `admin` is a kubeconfig that may do all."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM.exists(), f"there is no {PROGRAM}: make test-kube builds it"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.server = f"https://127.0.0.1:{free_port()}"
        token = secrets.token_hex(16)
        self.admin = self.kubeconfig("admin", token)
        self._processes: list[Process] = []
        try:
            self._start(token)
        except BaseException:
            self.stop()
            raise

    def _start(self, token: str) -> None:
        key = self._folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f'{token},admin,admin,"system:masters"\n')
        store, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )
        api = self._run(
            "apiserver",
            f"--etcd-servers={store}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.server.rpartition(':')[2]}",
            f"--cert-dir={self._folder}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
        )
        api.wait_for(self._is_ready, "ready API", _START_TIMEOUT_S)
        common = [f"--kubeconfig={self.admin}", "--leader-elect=false", "--secure-port=0"]
        self._run(
            "controllers",
            *common,
            f"--service-account-private-key-file={key}",
            f"--controllers={','.join(_CONTROLLERS)}",
        )
        self._run("scheduler", *common)

    def _run(self, part: str, *flags: str) -> Process:
        process = Process([str(PROGRAM), part, *flags], self._folder, part, environment=isolated())
        self._processes.append(process)
        return process

    def _is_ready(self) -> bool:
        async def ready(api: client.ApiClient) -> bool:
            # What it says of itself before it can answer for others is not of interest.
            return bool(await client.CoreV1Api(api).list_namespace())

        if not self.certificate.exists():
            return False
        try:
            return self.ask(ready)
        except Exception:
            return False

    def stop(self) -> None:
        """One after the other: an API server whose store has gone does not end."""
        for process in reversed(self._processes):
            if process.exit_code is None:
                process.stop(_END_TIMEOUT_S)

    def kubeconfig(self, name: str, token: str) -> Path:
        path = self._folder / f"{name}.config"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "t",
            "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}],
            "clusters": [{"name": "t", "cluster": {"server": self.server, "certificate-authority": "apiserver.crt"}}],
            "users": [{"name": "t", "user": {"token": token}}],
        }
        path.write_bytes(msgspec.json.encode(document))
        return path

    @property
    def certificate(self) -> Path:
        return self._folder / "apiserver.crt"

    # What an administrator does.

    def ask(self, use: Callable[[client.ApiClient], Awaitable[T]]) -> T:
        async def run() -> T:
            async with await connected(self.admin) as api:
                return await use(api)

        return asyncio.run(run())

    def new_namespace(self) -> str:
        name = f"n{secrets.token_hex(5)}"

        async def make(api: client.ApiClient) -> None:
            core = client.CoreV1Api(api)
            await core.create_namespace({"metadata": {"name": name}})

        self.ask(make)
        self._wait_for_account(name)
        return name

    def _wait_for_account(self, namespace: str) -> None:
        """Pods are refused until a controller has made it."""

        async def is_there(api: client.ApiClient) -> bool:
            found = await client.CoreV1Api(api).list_namespaced_service_account(namespace)
            return bool(found.items)

        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while not self.ask(is_there):
            assert time.monotonic() < deadline_s, "the controllers make no service account"
            time.sleep(0.05)

    def create(self, namespace: str, documents: list[Any], **options: Any) -> None:
        async def make(api: client.ApiClient) -> None:
            for each in documents:
                await utils.create_from_dict(api, each, namespace=namespace, **options)

        self.ask(make)

    def token(self, namespace: str, account: str) -> str:
        """As a pod of this service account gets it."""

        async def make(api: client.ApiClient) -> str:
            body = {"spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3_600}}
            found = await client.CoreV1Api(api).create_namespaced_service_account_token(account, namespace, body)
            return str(found.status.token)

        return self.ask(make)


async def connected(file: Path) -> client.ApiClient:
    settings = client.Configuration()
    await config.load_kube_config(str(file), client_configuration=settings)
    return client.ApiClient(settings)
