"""Runs the service that ``rockdove serve`` has settings for, and tells why it cannot."""

import contextlib
import errno
import shlex
import socket
from collections.abc import Callable

import uvloop

from rockdove.cli.announcement import Announcement, announce
from rockdove.cli.failure import Code, Failure, ReaderGone
from rockdove.cli.output import Output
from rockdove.core.errors import DataFolderError, ExposedError
from rockdove.server.allocator import give_back_large_blocks
from rockdove.server.origin import OriginError
from rockdove.server.page import is_loopback
from rockdove.server.run import until_stopped, works
from rockdove.server.service import Service, certificate
from rockdove.server.setting import Settings
from rockdove.server.supervisor import Family, Ready, StartFailed, Supervisor
from rockdove.server.tls import TlsError
from rockdove.store.registry import Location
from rockdove.store.sqlite.folder import FolderInUse
from rockdove.trace import MissingExtra, TraceFolderError


def run(settings: Settings, output: Output) -> None:
    """Serve until SIGINT or SIGTERM."""
    give_back_large_blocks()
    if settings.workers:
        _run_processes(settings, output)
    else:
        uvloop.run(_run_alone(settings, output))


async def _run_alone(settings: Settings, output: Output) -> None:
    service = Service(settings)

    async def start() -> Callable[[], None]:
        try:
            await service.start()
        except Exception as error:
            raise _failure(settings, error) from None
        _announce(settings, service.port, service.accounts.exist, output)
        return service.reload

    await until_stopped(start, service.stop)


def _run_processes(settings: Settings, output: Output) -> None:
    family = Family(settings)

    def opened(ready: Ready) -> None:
        if not ready.accounts and is_exposed(settings.host):
            raise _exposed(settings.host, settings.locate())
        try:
            family.bind(settings.host, settings.port)
        except OSError as error:
            raise _failure(settings, error) from None

    try:
        family.load_certificate()
    except TlsError as error:
        family.close()
        raise _failure(settings, error) from None
    try:
        supervisor = Supervisor(
            family, settings.workers, *works(settings, family, lambda error: _explain(settings, error))
        )
        try:
            ready = supervisor.start(opened)
        except StartFailed as error:
            raise Failure(str(error), Code(error.code)) from None
        _announce(settings, family.port, ready.accounts, output)
        supervisor.run()
    finally:
        family.close()


def _announce(settings: Settings, port: int, accounts: bool, output: Output) -> None:
    found = certificate(settings)
    names = None if found is None else found.names()
    # A reader of our output that has gone is no reason to stop serving.
    with contextlib.suppress(ReaderGone):
        announce(Announcement(settings, settings.locate(), port, names, accounts), output)


# Why it cannot serve.


def check_exposed(host: str, location: Location) -> None:
    """Where others can reach the service, there must be accounts to keep them out."""
    if is_exposed(host) and location.is_new:
        raise _exposed(host, location)


def is_exposed(host: str) -> bool:
    """Whether other machines can reach an address."""
    try:
        found = {address[4][0] for address in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError) as error:
        raise Failure(f"cannot listen on {host!r}: {_text(error)}; try --host 127.0.0.1", Code.USAGE) from None
    return not all(is_loopback(str(address)) for address in found)


def _exposed(host: str, location: Location) -> Failure:
    """Without a folder there is nowhere to add an account before the service runs."""
    if location.kind.is_kept:
        place = f"--data {shlex.quote(str(location.folder))}" if location.folder else f"--store {location.shown}"
        advice = f'add one with "rockdove account add NAME {place}", or use --host 127.0.0.1'
    else:
        advice = (
            f"in {location.name} there can be none when it starts: use --host 127.0.0.1, or --store sqlite and add one"
        )
    return Failure(
        f"will not listen on {host}: others could reach it there, and there are no accounts to keep them out; {advice}",
        Code.REFUSED,
    )


def _explain(settings: Settings, error: Exception) -> tuple[int, str]:
    """For a process that cannot print it itself. Raises what is a defect."""
    failure = _failure(settings, error)
    return failure.code, str(failure)


def _failure(settings: Settings, error: Exception) -> Failure:
    match error:
        case Failure():
            return error
        case ExposedError():
            return _exposed(settings.host, settings.locate())
        case MissingExtra() | TraceFolderError():
            return Failure(f"--trace: {error}")
        case DataFolderError():
            return Failure(str(error), Code.REFUSED if isinstance(error, FolderInUse) else Code.FAILED)
        case TlsError():
            return Failure(str(error), Code.USAGE)
        case OriginError():
            return Failure(str(error), Code.REFUSED)
        case OSError():
            return Failure(listening_failed(settings.host, settings.port, error))
    raise error


def listening_failed(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use; stop what listens there, or choose another with "
            "--port (0 takes any free one)"
        )
    if error.errno == errno.EACCES:
        return f"port {port} is not for ordinary users; choose one above 1023 with --port"
    return f"cannot listen on {host}, port {port}: {_text(error)}; choose others with --host and --port"


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
