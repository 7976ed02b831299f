"""Where Redis servers are: ``redis://[user:password@]host:port,host:port,...[/database][?replicas=N]``."""

from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from rockdove.core.errors import RockdoveError

DEFAULT_PORT = 6379
# An id has five bits for the server of a physical queue.
MOST_SERVERS = 32


class AddressError(RockdoveError):
    """What was given is no address of Redis servers; the message says why."""


class Endpoint(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        """Without a port, it is no server's."""
        if not self.port:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Address(NamedTuple):
    """All servers of a store. ``replicas``: how many copies of each server must have a change before it counts."""

    endpoints: tuple[Endpoint, ...]
    user: str | None = None
    password: str | None = None
    database: int = 0
    replicas: int = 0

    def __str__(self) -> str:
        """Without the password."""
        return ",".join(map(str, self.endpoints))


def parse_address(text: str) -> Address:
    """Raises `AddressError`. Its text does not quote what may be a password."""
    try:
        url = urlsplit(text)
        query = parse_qs(url.query, strict_parsing=bool(url.query), keep_blank_values=True)
    except ValueError:
        raise AddressError("write the Redis servers as redis://host:port,host:port") from None
    if not text.partition(":")[2].startswith("//"):
        raise AddressError("write the Redis servers as redis://host:port,host:port")
    if "@" in url.path:
        raise AddressError("in a password write / as %2F and @ as %40")
    login, _, hosts = url.netloc.rpartition("@")
    user, colon, password = login.partition(":")
    if login and not colon:
        raise AddressError("before the @ write user:password, or :password alone")
    endpoints = tuple(_endpoint(part) for part in hosts.split(","))
    if len(set(endpoints)) < len(endpoints):
        raise AddressError("each Redis server is named once")
    if len(endpoints) > MOST_SERVERS:
        raise AddressError(f"there are at most {MOST_SERVERS} Redis servers")
    replicas = _number(query.pop("replicas", ["0"])[-1], "replicas", 100)
    if query:
        raise AddressError(f"there is no setting {next(iter(query))[:32]!r} of Redis servers; there is replicas")
    database = _number(url.path.strip("/") or "0", "the database", 1_000_000)
    return Address(endpoints, unquote(user) or None, unquote(password) or None, database, replicas)


def _endpoint(text: str) -> Endpoint:
    host, bracket, port = text.partition("]") if text.startswith("[") else ("", "", "")
    if bracket:
        host, port = host[1:], port.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host:
        raise AddressError("a Redis server has no host: write redis://host:port,host:port")
    number = int(port) if port.isdecimal() and port.isascii() else 0 if port else DEFAULT_PORT
    if not 0 < number <= 65_535:
        raise AddressError("a port of the Redis servers is a number from 1 to 65,535")
    return Endpoint(host.lower(), number)


def _number(text: str, what: str, most: int) -> int:
    if not text.isdecimal() or not text.isascii() or int(text) > most:
        raise AddressError(f"{what} of the Redis servers is a number from 0 to {most:,}")
    return int(text)
