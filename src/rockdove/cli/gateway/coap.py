"""``rockdove gateway coap``: devices that speak CoAP."""

import asyncio
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.gateway import door
from rockdove.cli.output import Output
from rockdove.cli.serving import is_exposed
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.server.log import Form, Level, configure
from rockdove.server.seldom import Seldom


def coap(
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    listen_host: door.Host = "127.0.0.1",
    listen_port: door.Port = 5683,
    rules: door.Map = None,
    certificate: door.TlsCertificate = None,
    key: door.TlsKey = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen where others can reach it, without encryption.")
    ] = False,
    most: door.Most = 10_000,
    region: option.Region = None,
    config: option.Config = None,
    form: door.LogFormat = Form.text,
    as_json: option.Json = False,
) -> None:
    """Let devices post to queues by CoAP.

    A POST to /queues/NAME is a message for the queue NAME; other paths by --map. The answer is 2.01 when the
    service has stored it. Large bodies come in blocks. A datagram that comes twice is one message.

    Devices show who they are in the query: token=..., or user=...&secret=... Where the service has no
    accounts, they need neither. Datagrams are not encrypted; --tls-cert makes it CoAP over TLS (coaps+tcp).

    \b
    Examples:
      rockdove gateway coap --endpoint http://127.0.0.1:9324
      rockdove gateway coap --map sensors/+=readings
      rockdove gateway coap --host 0.0.0.0 --port 5684 --tls-cert cert.pem --tls-key key.pem
    """
    mapping = door.mapping(rules, "--map")
    tls = door.tls(certificate, key, "coap")
    if tls is None and not insecure and is_exposed(listen_host):
        raise Failure(
            f"will not listen on {listen_host}: others could reach it there, and datagrams are not encrypted; give "
            "--tls-cert and --tls-key, or --insecure if the network keeps strangers out",
            Code.REFUSED,
        )
    configure(form, Level.warning)
    door.raise_file_limit()
    from rockdove.gateway.coap.resource import Queues
    from rockdove.gateway.coap.server import Server

    async def run() -> None:
        service = door.connect(endpoint, region)
        server = Server(Queues(service, mapping, Seldom()), most, tls.context if tls else None)
        place = door.Place("coaps+tcp" if tls else "coap", listen_host, listen_port)
        await door.run(place, service, server, Output(as_json), tls.reload if tls else lambda: None)

    asyncio.run(run())
