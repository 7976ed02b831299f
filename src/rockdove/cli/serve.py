"""``rockdove serve``: run the service."""

import asyncio
import contextlib
import errno
import fcntl
import gc
import os
import shlex
import signal
import socket
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from rockdove.cli import option, span, token
from rockdove.cli.announcement import announce
from rockdove.cli.failure import Code, Failure, ReaderGone
from rockdove.cli.limit import fitting, with_limits
from rockdove.cli.output import Output
from rockdove.core.arn import is_region
from rockdove.core.errors import DataFolderError, ExposedError
from rockdove.server import host as host_name
from rockdove.server import origin
from rockdove.server.limit import Limits
from rockdove.server.log import Form, Level, configure
from rockdove.server.page import is_loopback
from rockdove.server.service import Service, Settings
from rockdove.server.tls import TlsError
from rockdove.store.registry import Location, UnknownStore, locate
from rockdove.store.sqlite.folder import LOCK
from rockdove.trace import Keep, KeepError, MissingExtra, TraceFolderError, keep


@with_limits
def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", envvar="ROCKDOVE_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="N", envvar="ROCKDOVE_PORT", help="Port to listen on; 0 takes any free one.", min=0, max=65535
        ),
    ] = 9324,
    data: Annotated[
        Path, typer.Option(metavar="DIR", envvar="ROCKDOVE_DATA", help="Folder that holds the messages.")
    ] = Path("data"),
    store: Annotated[
        str,
        typer.Option(
            metavar="STORE",
            envvar="ROCKDOVE_STORE",
            help="Where messages live: sqlite (in the folder of --data), sqlite:DIR, or memory, which forgets them at "
            "the end.",
        ),
    ] = "sqlite",
    region: Annotated[
        str, typer.Option(metavar="NAME", envvar="ROCKDOVE_REGION", help="The region that ARNs carry.")
    ] = "us-east-1",
    trust_proxy: Annotated[
        bool,
        typer.Option(
            "--trust-proxy", envvar="ROCKDOVE_TRUST_PROXY", help="Build queue URLs from X-Forwarded-* headers."
        ),
    ] = False,
    cool_down: Annotated[
        bool,
        typer.Option(
            envvar="ROCKDOVE_COOL_DOWN",
            help="Refuse to purge again, or to re-create a deleted queue, for 60 s, as SQS does.",
        ),
    ] = True,
    metrics_queues: Annotated[
        int,
        typer.Option(
            metavar="N",
            envvar="ROCKDOVE_METRICS_QUEUES",
            help="Queues with metrics of their own; the others share one series.",
            min=0,
        ),
    ] = 1_000,
    metrics_token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="ROCKDOVE_METRICS_TOKEN_FILE",
            help="Who sends the token in FILE may read /metrics from other machines.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", envvar="ROCKDOVE_TRACE", help="Record every operation as Parquet files under this folder."
        ),
    ] = None,
    trace_keep: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            envvar="ROCKDOVE_TRACE_KEEP",
            help="Keep traces up to an age, a size or both, such as 7d, 10GB or 7d,10GB; or all.",
        ),
    ] = "7d,10GB",
    lease_keep: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            envvar="ROCKDOVE_LEASE_KEEP",
            help="Give back what a consumer has leased that has not called for so long, such as 12h; else never.",
        ),
    ] = None,
    log_format: Annotated[
        Form, typer.Option(envvar="ROCKDOVE_LOG_FORMAT", help="Log lines for people, or JSON for machines.")
    ] = Form.text,
    log_level: Annotated[
        Level, typer.Option(envvar="ROCKDOVE_LOG_LEVEL", help="What is worth a line in the log.")
    ] = Level.warning,
    access_log: Annotated[
        bool,
        typer.Option("--access-log", envvar="ROCKDOVE_ACCESS_LOG", help="Log every request, without its contents."),
    ] = False,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="ROCKDOVE_TLS_CERT",
            help="Serve HTTPS with this certificate (PEM, with those that sign it); SIGHUP reads it anew.",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", envvar="ROCKDOVE_TLS_KEY", help="The certificate's key (PEM).")
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            envvar="ROCKDOVE_CORS_ORIGIN",
            help="Let web pages of this origin use the service, such as https://app.example.com; may be repeated.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            envvar="ROCKDOVE_ALLOW_HOST",
            help="Answer under this name, too, where nobody has to sign, such as queues.lan; may be repeated.",
            show_default=False,
        ),
    ] = None,
    config: option.Config = None,
    as_json: option.Json = False,
    *,
    limits: Limits,
) -> None:
    """Run the queue service until Ctrl-C or SIGTERM.

    Messages are kept in the folder "data" under the current one, or where --data says. Once the
    service listens, it prints "ready http://HOST:PORT"; with --json one line {"ready": URL, ...}.

    \b
    Examples:
      rockdove serve
      rockdove serve --port 0 --data /var/lib/rockdove
      rockdove serve --store memory --no-cool-down
    """
    location = _locate(store, data)
    if _is_exposed(host) and location.is_new:
        raise _exposed(host, location)
    if (tls_cert is None) != (tls_key is None):
        raise Failure("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE", Code.USAGE)
    configure(log_format, log_level)
    settings = Settings(
        host=host,
        port=port,
        data=data,
        store=store,
        region=_region(region),
        trust_proxy=trust_proxy,
        cool_down=cool_down,
        metrics_queues=metrics_queues,
        metrics_token=token.read(metrics_token_file),
        trace=trace,
        trace_keep=_keep(trace_keep),
        lease_keep_s=None if lease_keep is None else span.seconds(lease_keep, "--lease-keep"),
        access_log=access_log,
        limits=fitting(limits),
        tls_cert=tls_cert,
        tls_key=tls_key,
        cors_origin=tuple(map(_origin, cors_origin or ())),
        allow_host=tuple(map(_host, allow_host or ())),
    )
    uvloop.run(_run(settings, as_json))


def _locate(store: str, data: Path) -> Location:
    try:
        return locate(store, data)
    except UnknownStore as error:
        raise Failure(f"--store: {error}", Code.USAGE) from None


def _region(text: str) -> str:
    if not is_region(text):
        raise Failure(f"--region: {text!r} is no name of a region; it is letters, digits and hyphens", Code.USAGE)
    return text


def _keep(text: str) -> Keep:
    try:
        return keep.parse(text)
    except KeepError as error:
        raise Failure(f"--trace-keep: {error}", Code.USAGE) from None


def _origin(text: str) -> str:
    try:
        return origin.check(text)
    except origin.OriginError as error:
        raise Failure(f"--cors-origin: {error}", Code.USAGE) from None


def _host(text: str) -> str:
    try:
        return host_name.check(text)
    except host_name.HostError as error:
        raise Failure(f"--allow-host: {error}", Code.USAGE) from None


def _is_exposed(host: str) -> bool:
    """Whether other machines can reach an address."""
    try:
        found = {address[4][0] for address in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError) as error:
        raise Failure(f"cannot listen on {host!r}: {_text(error)}; try --host 127.0.0.1", Code.USAGE) from None
    return not all(is_loopback(str(address)) for address in found)


def _exposed(host: str, location: Location) -> Failure:
    """Without a folder there is nowhere to add an account before the service runs."""
    folder = location.folder
    advice = (
        f"in {location.name} there can be none when it starts: use --host 127.0.0.1, or --store sqlite and add one"
        if folder is None
        else f'add one with "rockdove account add NAME --data {shlex.quote(str(folder))}", or use --host 127.0.0.1'
    )
    return Failure(
        f"will not listen on {host}: others could reach it there, and there are no accounts to keep them out; {advice}",
        Code.REFUSED,
    )


async def _run(settings: Settings, as_json: bool) -> None:
    stopped, reload = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, reload.set)
    service = await _start(settings)
    loop.add_signal_handler(signal.SIGHUP, service.reload)
    if reload.is_set():
        # Asked for while the service started, perhaps after the certificate had been read.
        service.reload()
    loop.set_exception_handler(lambda loop, context: service.complain(context))
    # What is there by now stays, and a request leaves no cycles behind: look for garbage seldom, among what is new.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    # A reader of our output that has gone is no reason to stop serving.
    with contextlib.suppress(ReaderGone):
        announce(service, Output(as_json))
    await stopped.wait()
    await service.stop()


async def _start(settings: Settings) -> Service:
    service = Service(settings)
    try:
        await service.start()
    except ExposedError:
        raise _exposed(settings.host, service.location) from None
    except (MissingExtra, TraceFolderError) as error:
        raise Failure(f"--trace: {error}") from None
    except DataFolderError as error:
        raise Failure(str(error), Code.REFUSED if _is_held(service.location) else Code.FAILED) from None
    except TlsError as error:
        raise Failure(str(error), Code.USAGE) from None
    except origin.OriginError as error:
        raise Failure(str(error), Code.REFUSED) from None
    except OSError as error:
        raise Failure(_listening_failed(settings, error)) from None
    return service


def _is_held(location: Location) -> bool:
    """Whether another process has the data folder."""
    folder = location.folder
    if folder is None:
        return False
    try:
        lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _listening_failed(settings: Settings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {settings.port} of {settings.host} is in use; stop what listens there, or choose another with "
            "--port (0 takes any free one)"
        )
    if error.errno == errno.EACCES:
        return f"port {settings.port} is not for ordinary users; choose one above 1023 with --port"
    return (
        f"cannot listen on {settings.host}, port {settings.port}: {_text(error)}; choose others with --host and --port"
    )


def _text(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
