"""``rockdove serve``: run the service."""

from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option, span, token
from rockdove.cli.failure import Code, Failure
from rockdove.cli.limit import fitting, with_limits
from rockdove.cli.output import Output
from rockdove.cli.serving import check_exposed, run
from rockdove.core.arn import is_region
from rockdove.server import host as host_name
from rockdove.server import origin
from rockdove.server.limit import Limits
from rockdove.server.log import Form, Level, configure
from rockdove.server.setting import Settings, default_workers
from rockdove.store.registry import Location, UnknownStore, locate
from rockdove.trace import Keep, KeepError, keep


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
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            envvar="ROCKDOVE_WORKERS",
            help="Front-end processes; 0: one process does everything. By default as many as the processor's cores are "
            "worth.",
            min=0,
            max=256,
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
    check_exposed(host, _locate(store, data))
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
        workers=default_workers() if workers is None else workers,
    )
    run(settings, Output(as_json))


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
