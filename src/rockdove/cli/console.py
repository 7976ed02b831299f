"""``rockdove console``: the web console."""

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.announcement import url_of
from rockdove.cli.failure import Code, Failure, ReaderGone
from rockdove.cli.output import Output, note
from rockdove.cli.serving import is_exposed, listening_failed
from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.console import extra
from rockdove.core.errors import Fault
from rockdove.server.log import Form, Level, configure
from rockdove.server.tls import Certificate, TlsError


def console(
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    console_host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    console_port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65_535, help="The port to listen on; 0: any free one.")
    ] = 9325,
    reports: Annotated[
        Path | None,
        typer.Option("--reports", metavar="DIR", help="The folder in which rockdove analyse and watch leave reports."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Serve HTTPS with this certificate (PEM).")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (PEM).")] = None,
    region: option.Region = None,
    config: option.Config = None,
    form: Annotated[Form, typer.Option("--log-format", help="Log lines for people, or JSON for machines.")] = Form.text,
    as_json: option.Json = False,
) -> None:
    """Look after queues in a browser.

    Where the service has accounts, people sign in with an account's name and console password, which
    "rockdove account password NAME" sets, and see the queues of that account. Without accounts, the console
    listens on this machine alone, and nobody has to sign in.

    \b
    Examples:
      rockdove console
      rockdove console --endpoint http://127.0.0.1:9324 --port 9325
      rockdove console --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    """
    extra.require()
    configure(form, Level.warning)
    _check_certificate(certificate, key)
    exposed = is_exposed(console_host)
    asyncio.run(_check_service(endpoint, region, console_host, exposed))
    from rockdove.console.run import bind, run
    from rockdove.console.setting import Settings

    settings = Settings(endpoint, console_host, console_port, region, reports, certificate, key, exposed)
    try:
        listening = bind(console_host, console_port)
    except OSError as error:
        raise Failure(listening_failed(console_host, console_port, error)) from None
    _announce(settings.endpoint, url_of(console_host, listening.getsockname()[1], _scheme(certificate)), as_json)
    run(settings, listening)


def _scheme(certificate: Path | None) -> str:
    return "http" if certificate is None else "https"


def _announce(endpoint: str, url: str, as_json: bool) -> None:
    output = Output(as_json)
    # A reader of our output that has gone is no reason to end.
    with contextlib.suppress(ReaderGone):
        if as_json:
            output.record({"ready": url, "endpoint": endpoint})
        else:
            output.line(f"to {endpoint}\nready {url}")


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if (certificate is None) != (key is None):
        raise Failure("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE", Code.USAGE)
    if certificate is None or key is None:
        return
    try:
        Certificate(certificate, key).load()
    except TlsError as error:
        raise Failure(str(error), Code.USAGE) from None


async def _check_service(endpoint: str, region: str | None, host: str, exposed: bool) -> None:
    """Where others can reach the console, there must be accounts to keep them out."""
    from rockdove.console.service import Service

    try:
        service = Service(endpoint, region)
    except ValueError as error:
        raise Failure(str(error), Code.USAGE) from None
    try:
        has_accounts = await service.has_accounts()
    except (Unreachable, UnexpectedAnswer, Fault) as error:
        if exposed:
            raise Failure(str(error), Code.UNREACHABLE) from error
        note(f"the console says so until the service is there: {error}")
        return
    finally:
        await service.close()
    if exposed and not has_accounts:
        raise Failure(
            f"will not listen on {host}: others could reach it there, and {service.endpoint} has no accounts to "
            'keep them out; add one with "rockdove account add NAME", or use --host 127.0.0.1',
            Code.REFUSED,
        )
