"""What ``rockdove serve`` prints once it listens: where its data is, how to use it, and ready."""

import ipaddress

from msgspec import Struct

from rockdove import __version__
from rockdove.cli.output import Output
from rockdove.server.setting import Settings
from rockdove.server.tls import Names
from rockdove.store.registry import Location

_SNIPPET = """\
import boto3

sqs = boto3.client("sqs", endpoint_url="{url}", region_name="{region}",{verify}
                   aws_access_key_id="{key}", aws_secret_access_key="{secret}")
queue = sqs.create_queue(QueueName="hello")["QueueUrl"]
sqs.send_message(QueueUrl=queue, MessageBody="Hello, world!")
print(sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"][0]["Body"])
"""
# Of an authority that the machine may or may not know.
_AUTHORITY = """
                   verify="ca.pem",  # who signed the certificate; leave it out if the system knows them"""
_OWN = """
                   verify="{path}","""


def url_of(host: str, port: int, scheme: str = "http") -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


class Announcement(Struct, frozen=True):
    """A service that serves."""

    settings: Settings
    location: Location
    port: int
    names: Names | None
    # Whether there are accounts.
    accounts: bool


def announce(told: Announcement, output: Output) -> None:
    settings, location, port, names = told.settings, told.location, told.port, told.names
    scheme = "http" if names is None else "https"
    url = url_of(settings.host, port, scheme)
    folder = location.shown or None if location.folder is None else str(location.folder.absolute())
    if output.as_json:
        output.record({"ready": url, "data": folder, "store": location.name, "workers": settings.workers})
        return
    output.line(f"Rockdove {__version__}")
    if folder is None:
        output.line(f"data: in {location.name}; nothing is kept when the service ends")
    else:
        output.line(f"data: {folder}")
    output.line(f"workers: {_workers(settings.workers)}\n")
    verify = ""
    if names is not None:
        own = str(settings.tls_cert.absolute()) if settings.tls_cert and names.self_signed else None
        verify = _AUTHORITY if own is None else _OWN.format(path=own)
    endpoint = url_of(known_host(settings.host, names), port, scheme)
    key, secret = ("YOUR ACCESS KEY", "YOUR SECRET KEY") if told.accounts else ("any", "any")
    output.line(_SNIPPET.format(url=endpoint, region=settings.region, verify=verify, key=key, secret=secret))
    output.line(f"ready {url}")


def _workers(number: int) -> str:
    if not number:
        return "0 (one process does everything)"
    return f"{number} (front-end {'process' if number == 1 else 'processes'}; --workers N changes it)"


def known_host(host: str, names: Names | None) -> str:
    """The address to connect to: a client believes the certificate only under a name that is in it."""
    if names is None or host in names.hosts:
        return host
    usable = [name for name in names.hosts if "*" not in name]
    if _is_address(host) and "localhost" in usable and ipaddress.ip_address(host).is_loopback:
        return "localhost"
    return usable[0] if usable else host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
