"""What the commands of the group have in common: options, checks, and running until a signal."""

import contextlib
import logging
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol, TypeAlias

import typer

from rockdove.cli.announcement import url_of
from rockdove.cli.failure import Code, Failure, ReaderGone
from rockdove.cli.output import Output
from rockdove.cli.serving import is_exposed, listening_failed
from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault
from rockdove.server.log import Form
from rockdove.server.run import until_stopped
from rockdove.server.tls import Certificate, TlsError

if TYPE_CHECKING:
    from rockdove.gateway.mapping import Mapping
    from rockdove.gateway.service import Service

# Seconds for sending on what has come in, at the end.
DRAIN_S = 10.0

log = logging.getLogger("rockdove")

# The names of parameters differ from those of settings in rockdove.toml, which are the service's.
Host: TypeAlias = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")]
Port: TypeAlias = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65_535, help="The port to listen on; 0: any free one.")
]
Map: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="TOPICS=QUEUE",
        help="Where messages go: rooms/+/climate=climate, rooms/+/#=room-{1}; repeatable, the first that fits counts.",
        show_default="queues/NAME=NAME",
    ),
]
TlsCertificate: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--tls-cert", metavar="FILE", help="The certificate (PEM, with those that sign it); SIGHUP reads it anew."
    ),
]
TlsKey: TypeAlias = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (PEM).")
]
Most: TypeAlias = Annotated[int, typer.Option("--max-connections", metavar="N", min=1, help="Connections at a time.")]
LogFormat: TypeAlias = Annotated[Form, typer.Option("--log-format", help="Log lines for people, or JSON for machines.")]


class Place(NamedTuple):
    """Where a door listens, and what for."""

    scheme: str
    host: str
    port: int


class Door(Protocol):
    """Listens, once it is open."""

    @property
    def port(self) -> int: ...

    async def open(self, host: str, port: int) -> None:
        """Raises OSError."""

    async def close(self) -> None:
        """Takes nothing more; what was taken is on its way to the service."""


def mapping(rules: list[str] | None, flag: str) -> "Mapping":
    from rockdove.gateway.mapping import Mapping, MappingError

    try:
        return Mapping(rules or ())
    except MappingError as error:
        raise Failure(f"{flag}: {error}", Code.USAGE) from None


def tls(certificate: Path | None, key: Path | None, *protocols: str) -> "Tls | None":
    if (certificate is None) != (key is None):
        raise Failure("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE", Code.USAGE)
    if certificate is None or key is None:
        return None
    try:
        return Tls(certificate, key, protocols)
    except TlsError as error:
        raise Failure(str(error), Code.USAGE) from None


class Tls:
    """A certificate, and the context that new connections get."""

    def __init__(self, certificate: Path, key: Path, protocols: Sequence[str]) -> None:
        """Raises `TlsError`."""
        self._files = (certificate, key)
        self.context = Certificate(*self._files).load()
        self.context.set_alpn_protocols(list(protocols))

    def reload(self) -> None:
        try:
            Certificate(*self._files).load()
        except TlsError as error:
            log.error("the certificate stays what it was: %s", error)
        else:
            self.context.load_cert_chain(*self._files)


def raise_file_limit() -> None:
    """What the process may have open, it may have open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def connect(endpoint: str, region: str | None) -> "Service":
    from rockdove.gateway.service import Service

    try:
        return Service(endpoint, region)
    except ValueError as error:
        raise Failure(str(error), Code.USAGE) from None


async def run(
    place: Place, service: "Service", door: Door, output: Output, reload: Callable[[], None] = lambda: None
) -> None:
    """Until SIGINT or SIGTERM."""

    async def start() -> Callable[[], None]:
        await _check(place.host, service)
        try:
            await door.open(place.host, place.port)
        except OSError as error:
            raise Failure(listening_failed(place.host, place.port, error)) from None
        url = url_of(place.host, door.port, place.scheme)
        # A reader of our output that has gone is no reason to end.
        with contextlib.suppress(ReaderGone):
            if output.as_json:
                output.record({"ready": url, "endpoint": service.endpoint})
            else:
                output.line(f"to {service.endpoint}\nready {url}")
        return reload

    async def stop() -> None:
        await door.close()
        await service.drain(DRAIN_S)

    async with service:
        await until_stopped(start, stop)


async def _check(host: str, service: "Service") -> None:
    """Where others can reach the gateway, there must be accounts to keep them out."""
    exposed = is_exposed(host)
    try:
        if await service.lets_anybody_in() and exposed:
            raise Failure(
                f"will not listen on {host}: others could reach it there, and {service.endpoint} has no accounts to "
                'keep them out; add one with "rockdove account add NAME", or use --host 127.0.0.1',
                Code.REFUSED,
            )
    except (Unreachable, UnexpectedAnswer, Fault) as error:
        if exposed:
            raise Failure(str(error), Code.UNREACHABLE) from error
        log.warning("devices are turned away until the service is there: %s", error)
