"""Where a keyspace of Cassandra is: ``cassandra://[user:password@]host[:port],host/keyspace[?replication=3]``."""

import re
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from rockdove.core.errors import RockdoveError

DEFAULT_PORT = 9042
DEFAULT_KEYSPACE = "rockdove"
MOST_COPIES = 9
FORM = "cassandra://host,host/keyspace"
CONSISTENCIES = ("quorum", "one")

Consistency = Literal["quorum", "one"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")


class AddressError(RockdoveError):
    """The text does not name a keyspace of Cassandra; the message says why."""


class Address(NamedTuple):
    """``replication`` is None if the keyspace must exist already, or gets 1 copy."""

    hosts: tuple[str, ...]
    port: int
    keyspace: str
    user: str | None = None
    password: str | None = None
    replication: int | None = None
    consistency: Consistency = "quorum"

    def __str__(self) -> str:
        """Without the password."""
        port = "" if self.port == DEFAULT_PORT else f":{self.port}"
        return f"{','.join(host + port for host in self.hosts)}/{self.keyspace}"


def parse_address(text: str) -> Address:
    """Raises `AddressError`. Its text does not quote what may be a password."""
    try:
        url = urlsplit(text)
        query = parse_qs(url.query, strict_parsing=bool(url.query), keep_blank_values=True)
    except ValueError:
        raise AddressError(f"write the nodes of Cassandra as {FORM}") from None
    login, _, names = url.netloc.rpartition("@")
    user, colon, password = login.partition(":")
    if login and not (colon and user):
        raise AddressError("before the @ write user:password")
    hosts, ports = zip(*map(_endpoint, names.split(",")), strict=True)
    if len(set(ports)) > 1:
        raise AddressError("all nodes of Cassandra listen on the same port")
    if url.fragment:
        raise AddressError(f"write the nodes of Cassandra as {FORM}, without a #")
    keyspace = url.path.strip("/") or DEFAULT_KEYSPACE
    if not _NAME.fullmatch(keyspace):
        raise AddressError(
            "the keyspace has small letters, digits and underscores, at most 48, and begins with a letter"
        )
    replication = query.pop("replication", [None])[-1]
    consistency = query.pop("consistency", ["quorum"])[-1]
    if query:
        name = next(iter(query))[:32]
        raise AddressError(f"there is no setting {name!r} of Cassandra; there are replication and consistency")
    if replication is not None and not (replication.isdecimal() and 1 <= int(replication) <= MOST_COPIES):
        raise AddressError(f"the replication is a number from 1 to {MOST_COPIES}")
    if consistency not in CONSISTENCIES:
        raise AddressError("the consistency is quorum or one")
    return Address(
        tuple(hosts),
        ports[0],
        keyspace,
        unquote(user) or None,
        unquote(password) or None,
        None if replication is None else int(replication),
        "one" if consistency == "one" else "quorum",
    )


def _endpoint(text: str) -> tuple[str, int]:
    host, bracket, port = text.partition("]") if text.startswith("[") else ("", "", "")
    if bracket:
        host, port = host[1:], port.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host:
        raise AddressError(f"a node of Cassandra has no host: write {FORM}")
    if port and not (port.isdecimal() and 0 < int(port) <= 65_535):
        raise AddressError("a port is a number from 1 to 65,535")
    return host.lower(), int(port or DEFAULT_PORT)
