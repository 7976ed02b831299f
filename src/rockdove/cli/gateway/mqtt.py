"""``rockdove gateway mqtt``: devices that speak MQTT."""

from typing import Annotated

import typer
import uvloop

from rockdove.cli import option
from rockdove.cli.gateway import door
from rockdove.cli.output import Output
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.server.log import Form, Level, configure


def mqtt(
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    listen_host: door.Host = "127.0.0.1",
    listen_port: door.Port = 1883,
    rules: door.Map = None,
    commands: Annotated[
        list[str] | None,
        typer.Option(
            "--commands",
            metavar="TOPICS=QUEUE",
            help="Which queue's messages a subscriber of a topic gets: devices/+/do=do-{1}; repeatable.",
            show_default="queues/NAME=NAME",
        ),
    ] = None,
    certificate: door.TlsCertificate = None,
    key: door.TlsKey = None,
    most: door.Most = 10_000,
    region: option.Region = None,
    config: option.Config = None,
    form: door.LogFormat = Form.text,
    as_json: option.Json = False,
) -> None:
    """Let devices publish into queues by MQTT 3.1.1 and 5, and subscribe to queues for commands.

    What is published to queues/NAME goes into the queue NAME; other topics by --map. A publication of QoS 1
    is acknowledged when the service has stored it. While the service is away, devices wait.

    Devices show an account by user name and password (its name and secret key), or a token as the password
    without a user name. Where the service has no accounts, they need neither.

    \b
    Examples:
      rockdove gateway mqtt --endpoint http://127.0.0.1:9324
      rockdove gateway mqtt --map rooms/+/climate=climate --commands devices/+/do=do-{1}
      rockdove gateway mqtt --host 0.0.0.0 --port 8883 --tls-cert cert.pem --tls-key key.pem
    """
    topics, back = door.mapping(rules, "--map"), door.mapping(commands, "--commands")
    tls = door.tls(certificate, key, "mqtt")
    configure(form, Level.warning)
    door.raise_file_limit()
    from rockdove.gateway.mqtt.gateway import Gateway
    from rockdove.gateway.mqtt.server import Server

    async def run() -> None:
        service = door.connect(endpoint, region)
        server = Server(Gateway(service, topics, back), most, tls.context if tls else None)
        place = door.Place("mqtts" if tls else "mqtt", listen_host, listen_port)
        await door.run(place, service, server, Output(as_json), tls.reload if tls else lambda: None)

    uvloop.run(run())
