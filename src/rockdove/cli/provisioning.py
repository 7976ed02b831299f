"""What runs the workers of ``rockdove autoscale``, from its flags."""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from rockdove.cli.failure import Code, Failure

if TYPE_CHECKING:
    from rockdove.client import AsyncClient
    from rockdove.core.elastic import Elastic
    from rockdove.elastic.provision.base import Provisioner
    from rockdove.elastic.worker.handler import Handler

PROVISIONERS = ("process", "kubernetes", "simulated")

# For a queue by its URL and its settings.
Maker: TypeAlias = 'Callable[[AsyncClient, str, Elastic], Awaitable["Provisioner"]]'

# A name of Kubernetes.
_WORKLOAD = re.compile(r"(statefulset|deployment)/([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)")


class Wish(Struct, frozen=True, kw_only=True):
    """The flags that matter for it."""

    queue: str
    region: str | None
    provisioner: str
    handler: str | None
    command: str | None
    concurrency: int | None
    visibility: int
    startup: float | None
    placing: str
    folder: Path | None
    workload: str | None
    namespace: str | None
    kubeconfig: Path | None


def maker(wish: Wish) -> Maker:
    """Wrong flags are told at once."""
    if wish.provisioner not in PROVISIONERS:
        raise Failure(
            f"--provisioner is {', '.join(PROVISIONERS[:-1])} or {PROVISIONERS[-1]}, not {wish.provisioner!r}",
            Code.USAGE,
        )
    if wish.placing not in ("energy", "performance"):
        raise Failure(f"--placing is energy or performance, not {wish.placing!r}", Code.USAGE)
    if wish.provisioner == "kubernetes":
        return _kubernetes(wish)
    _refuse({"--workload": wish.workload, "--namespace": wish.namespace, "--kubeconfig": wish.kubeconfig})
    found = _handler(wish)
    return _simulated(wish, found) if wish.provisioner == "simulated" else _process(wish)


def concurrency_of(wish: Wish) -> int:
    """Messages at a time of each worker, as far as it is ours to say."""
    if wish.concurrency is not None or wish.provisioner == "kubernetes":
        return wish.concurrency or 1
    return _handler(wish).concurrency or 1


def _refuse(given: dict[str, object]) -> None:
    for flag, value in given.items():
        if value is not None:
            raise Failure(f"{flag} is for --provisioner kubernetes", Code.USAGE)


def _handler(wish: Wish) -> "Handler":
    """Found before any worker fails on it."""
    if (wish.handler is None) is (wish.command is None):
        raise Failure("say what is to be done: either --handler package.module:function or --exec CMD", Code.USAGE)
    from rockdove.elastic.worker.execute import execute
    from rockdove.elastic.worker.handler import HandlerError, find

    try:
        return find(wish.handler) if wish.handler is not None else execute(wish.command or "")
    except HandlerError as error:
        raise Failure(str(error), Code.USAGE) from error


def _process(wish: Wish) -> Maker:
    async def make(client: "AsyncClient", url: str, settings: "Elastic") -> "Provisioner":
        from rockdove.capacity.scaling.park import Placing
        from rockdove.elastic.provision.process import ProcessProvisioner, worker_command

        what = ["--handler", wish.handler] if wish.handler is not None else ["--exec", wish.command or ""]
        flags = [*what, "--concurrency", str(concurrency_of(wish)), "--visibility", str(wish.visibility)]
        folder = wish.folder or _folder(client.endpoint, url)
        command = worker_command(client.endpoint, wish.region, wish.queue, flags)
        try:
            return ProcessProvisioner(
                folder, command, settings.slots, settings.pool_size, wish.startup or 0.0, Placing(wish.placing)
            )
        except OSError as error:
            raise Failure(f"cannot make the folder {folder} for workers: {error.strerror}") from None

    return make


def _folder(endpoint: str, url: str) -> Path:
    """The same for the next controller of the same user, and another for any other queue."""
    service, (_, account, queue) = urlsplit(endpoint), url.rsplit("/", 2)
    # The names of this machine for itself are one.
    host = "localhost" if service.hostname in ("127.0.0.1", "::1") else service.hostname
    port = service.port or (443 if service.scheme == "https" else 80)
    name = hashlib.sha256(f"{host} {port} {account}/{queue}".encode()).hexdigest()[:12]
    return own_folder("rockdove-workers") / f"{queue}-{name}"


def own_folder(name: str) -> Path:
    """A folder of this user for temporary files, the same each time.

    Others must not write there: what is in it says which processes are ours to end, and where they write.
    """
    path = Path(tempfile.gettempdir()) / f"{name}-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise Failure(f"cannot make the folder {path}: {error.strerror}; choose another with --folder") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise Failure(
            f"{path} is not a folder that only this user may write to; remove it, or choose another with --folder"
        )
    return path


def _simulated(wish: Wish, found: "Handler") -> Maker:
    async def make(client: "AsyncClient", url: str, settings: "Elastic") -> "Provisioner":
        from rockdove.elastic.provision.simulated import STARTUP_S, SimulatedProvisioner
        from rockdove.elastic.worker.worker import Manners, Worker

        manners = Manners(concurrency=concurrency_of(wish), visibility_s=wish.visibility)
        return SimulatedProvisioner(
            lambda number: Worker(client, f"{url}~{number}", found, manners),
            settings.slots,
            settings.pool_size,
            STARTUP_S if wish.startup is None else wish.startup,
        )

    return make


def _kubernetes(wish: Wish) -> Maker:
    for flag, value in {"--handler": wish.handler, "--exec": wish.command, "--folder": wish.folder}.items():
        if value is not None:
            raise Failure(
                f"{flag} does not go with --provisioner kubernetes: the workload's own pods say what they run",
                Code.USAGE,
            )
    match = _WORKLOAD.fullmatch(wish.workload or "")
    if match is None:
        told = "" if wish.workload is None else f", not {wish.workload!r}"
        raise Failure(f"say what is to be scaled: --workload statefulset/NAME or deployment/NAME{told}", Code.USAGE)
    # What is missing is told before anything is changed.
    from rockdove.elastic.provision.kubernetes import KubernetesProvisioner
    from rockdove.elastic.provision.pod import Kind

    kind, name = Kind(match[1]), match[2]

    async def make(client: "AsyncClient", url: str, settings: "Elastic") -> "Provisioner":
        return await KubernetesProvisioner.open(kind, name, wish.namespace, wish.kubeconfig, wish.startup)

    return make


@contextmanager
def telling_trouble() -> Iterator[None]:
    """Trouble that ends the command: at its start and at its end. Between, the controller waits it out."""
    from rockdove.elastic.provision.base import (
        NothingToScale,
        ProvisionerAway,
        ProvisionerRefuses,
        ProvisionerTrouble,
    )

    try:
        yield
    except NothingToScale as error:
        raise Failure(str(error), Code.NOT_FOUND) from None
    except ProvisionerAway as error:
        raise Failure(str(error), Code.UNREACHABLE) from None
    except ProvisionerRefuses as error:
        raise Failure(str(error), Code.REFUSED) from None
    except ProvisionerTrouble as error:
        raise Failure(str(error)) from None
