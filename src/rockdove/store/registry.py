"""Which stores there are: by the first word of ``--store``, how each is opened, and what else there is to it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

from msgspec import Struct

from rockdove.core.clock import Clock
from rockdove.core.errors import RockdoveError
from rockdove.store.base import Store
from rockdove.store.common.keyfile import KeyFile, KeySource, MemoryKey
from rockdove.store.memory.store import MemoryStore
from rockdove.store.sqlite.backup import Progress, copy
from rockdove.store.sqlite.check import Report
from rockdove.store.sqlite.check import check as look_over
from rockdove.store.sqlite.folder import DATABASE
from rockdove.store.sqlite.store import SqliteStore


class UnknownStore(RockdoveError):
    """What ``--store`` names is no store of ours; the message says which there are."""


class Kind(Struct, frozen=True):
    """A kind of store. What is None, it does not have."""

    scheme: str
    open: Callable[["Location", Clock, Random, asyncio.AbstractEventLoop], Store]
    key: Callable[["Location"], KeySource]
    # Whether messages outlive the process that has the store.
    is_kept: bool = True
    # Its data is in a folder of this machine, which one process holds, and this file is in it.
    file: str | None = None
    # Copies the data of a running service: from, to, progress; the bytes.
    backup: Callable[[Path, Path, Progress], int] | None = None
    # Looks data over that no service holds.
    check: Callable[[Path, Callable[[int], None]], Report] | None = None
    # Its data is on servers: checks their address, and writes it without a password. Raises `UnknownStore`.
    servers: Callable[[str], str] | None = None
    # How that is written, and what settings it has besides.
    form: str = ""
    options: tuple[str, ...] = ()


class Location(Struct, frozen=True):
    """Where data is: a kind of store, and what distinguishes one from another."""

    kind: Kind
    # Of the data.
    folder: Path | None = None
    # Of what else the service keeps on this machine, such as the key of its accounts.
    own: Path | None = None
    # As it was given, and as it may be shown.
    address: str = ""
    shown: str = ""

    @property
    def name(self) -> str:
        return self.kind.scheme

    @property
    def is_new(self) -> bool:
        """Whether there is certainly nothing yet, not even an account."""
        if self.kind.servers is not None:
            return False
        return self.folder is None or self.kind.file is None or not (self.folder / self.kind.file).exists()

    def open(self, clock: Clock, loop: asyncio.AbstractEventLoop) -> Store:
        return self.kind.open(self, clock, Random(), loop)

    def key(self) -> KeySource:
        return self.kind.key(self)


def _folder(location: Location) -> Path:
    assert location.folder is not None
    return location.folder


def _own(location: Location) -> Path:
    assert location.own is not None
    return location.own


def _redis_servers(text: str) -> str:
    try:
        from rockdove.store.redis.address import AddressError, parse_address
        from rockdove.store.redis.connection import Connection  # noqa: F401
    except ImportError:
        raise UnknownStore("the store redis needs another package: pip install 'rockdove[redis]'") from None
    try:
        return f"redis://{parse_address(text)}"
    except AddressError as error:
        raise UnknownStore(str(error)) from None


def _open_redis(location: Location, clock: Clock, rng: Random, loop: asyncio.AbstractEventLoop) -> Store:
    from rockdove.store.redis.address import parse_address
    from rockdove.store.redis.store import RedisStore

    return RedisStore(parse_address(location.address), clock, rng, loop)


def _cassandra_nodes(text: str) -> str:
    try:
        from rockdove.store.cassandra.address import AddressError, parse_address
        from rockdove.store.cassandra.session import Session  # noqa: F401
    except ImportError:
        raise UnknownStore("the store cassandra needs another package: pip install 'rockdove[cassandra]'") from None
    try:
        return f"cassandra://{parse_address(text)}"
    except AddressError as error:
        raise UnknownStore(str(error)) from None


def _open_cassandra(location: Location, clock: Clock, rng: Random, loop: asyncio.AbstractEventLoop) -> Store:
    from rockdove.store.cassandra.address import parse_address
    from rockdove.store.cassandra.store import CassandraStore

    return CassandraStore(parse_address(location.address), clock, rng, loop)


KINDS = {
    kind.scheme: kind
    for kind in (
        Kind(
            "sqlite",
            lambda location, clock, rng, loop: SqliteStore(_folder(location), clock, rng, loop),
            lambda location: KeyFile(_folder(location)),
            file=DATABASE,
            backup=copy,
            check=look_over,
        ),
        Kind(
            "memory",
            lambda location, clock, rng, loop: MemoryStore(clock, rng),
            lambda location: MemoryKey(),
            is_kept=False,
        ),
        Kind(
            "redis",
            _open_redis,
            lambda location: KeyFile(_own(location)),
            servers=_redis_servers,
            form="redis://HOST:PORT,HOST:PORT",
        ),
        Kind(
            "cassandra",
            _open_cassandra,
            lambda location: KeyFile(_own(location)),
            servers=_cassandra_nodes,
            form="cassandra://HOST,HOST/KEYSPACE",
            options=("replication", "consistency"),
        ),
    )
}


def locate(text: str, data: Path, **options: object) -> Location:
    """What ``--store`` means: the name of a store, or its URL. ``data`` is the folder if the text names none.

    ``options`` are those of the kinds that have some; None: not given. Raises `UnknownStore`.
    """
    scheme, colon, rest = text.partition(":")
    kind = KINDS.get(scheme)
    # Not all of the text is told: a URL may hold a password.
    if kind is None:
        raise UnknownStore(f"there is no store {scheme[:32]!r}; choose one of {', '.join(forms())}")
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in kind.options:
            raise UnknownStore(f"--{name} is not for the store {scheme!r}")
    if kind.servers is not None:
        if given:
            text += ("&" if "?" in text else "?") + "&".join(f"{name}={value}" for name, value in given.items())
        return Location(kind, own=data, address=text, shown=kind.servers(text))
    if colon and kind.file is None:
        raise UnknownStore(f"the store {scheme!r} has no place: write {scheme!r} alone")
    if colon and not rest:
        raise UnknownStore(f"{text!r} names no folder: write {scheme}:DIR, or {scheme!r} alone for that of --data")
    return Location(kind, (Path(rest) if rest else data) if kind.file else None)


def forms() -> list[str]:
    """How stores are written."""
    return [form for kind in KINDS.values() for form in _forms(kind)]


def _forms(kind: Kind) -> list[str]:
    if kind.servers is not None:
        return [kind.form]
    return [kind.scheme, f"{kind.scheme}:DIR"] if kind.file else [kind.scheme]
