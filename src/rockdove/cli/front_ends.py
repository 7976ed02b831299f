"""``rockdove autoscale --front-ends``: the controller of front-ends behind nginx, with a live view."""

import asyncio
import hashlib
import ipaddress
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from msgspec import Struct

from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.provisioning import own_folder

if TYPE_CHECKING:
    from rockdove.capacity.scaling.front_ends import Bounds
    from rockdove.elastic.front_end.controller import Watcher
    from rockdove.elastic.front_end.local import LocalFleet
    from rockdove.elastic.front_end.nginx import Nginx
    from rockdove.elastic.front_end.state import Round

_STORES = "redis://HOST:PORT,HOST:PORT or cassandra://HOST,HOST/KEYSPACE"
_LISTEN = "127.0.0.1:9324"
_MOST = 64
_UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

# What only front-ends have; without a flag of theirs, `autoscale` is for a queue.
Store: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", envvar="ROCKDOVE_STORE", help=f"With --front-ends: {_STORES}.", show_envvar=False
    ),
]
Listen: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="ADDRESS:PORT", help="With --front-ends: where nginx listens.", show_default=_LISTEN
    ),
]
Least: TypeAlias = Annotated[
    int | None,
    typer.Option("--min", metavar="N", min=1, max=_MOST, help="Front-ends at least.", show_default="1"),
]
Most: TypeAlias = Annotated[
    int | None,
    typer.Option("--max", metavar="N", min=1, max=_MOST, help="Front-ends at most.", show_default="the cores"),
]
High: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--high-ms", metavar="MS", min=0.1, help="Mean response time above which one is added.", show_default="200"
    ),
]
Low: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--low-ms",
        metavar="MS",
        min=0,
        help="Mean response time below which one may go.",
        show_default="a quarter of --high-ms",
    ),
]
HighBytes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--high-bytes",
        metavar="SIZE",
        help="One for each so much that the store has, such as 10GB.",
        show_default="any size",
    ),
]
Period: TypeAlias = Annotated[
    float | None,
    typer.Option("--period", metavar="S", min=0.1, help="Seconds between two decisions.", show_default="10"),
]
Safety: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--safety", metavar="S", min=0, help="Seconds for a decision to take effect.", show_default="three periods"
    ),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="With --front-ends: the folder with account.key.", show_default="as for serve"
    ),
]
Names: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="With --front-ends: a name of this machine; repeatable."),
]


class Wanted(Struct, frozen=True, kw_only=True):
    """What the flags say; None: not given."""

    store: str | None
    listen: str | None
    least: int | None
    most: int | None
    high_ms: float | None
    low_ms: float | None
    high_bytes: str | None
    period_s: float | None
    safety_s: float | None
    data: Path | None
    names: list[str] | None

    def refuse(self) -> None:
        """They are for front-ends, and a queue is scaled. What rockdove.toml may say for the service does not count."""
        flags = {
            "--listen": self.listen,
            "--min": self.least,
            "--max": self.most,
            "--high-ms": self.high_ms,
            "--low-ms": self.low_ms,
            "--high-bytes": self.high_bytes,
            "--period": self.period_s,
            "--safety": self.safety_s,
        }
        if given := [flag for flag, value in flags.items() if value is not None]:
            raise Failure(f"{given[0]} is for front-ends: say --front-ends, and no QUEUE", Code.USAGE)


def scale(
    wanted: Wanted, folder: Path | None, config: Path | None, drain: bool, for_s: float | None, output: Output
) -> None:
    """Run until Ctrl-C or SIGTERM, or for so many seconds."""
    from rockdove.elastic.front_end.base import FrontEndError
    from rockdove.elastic.front_end.local import LocalFleet
    from rockdove.elastic.front_end.nginx import Nginx
    from rockdove.elastic.worker.report import ReportFile, Taken

    store, shown = _store(wanted.store)
    host, port = _address(wanted.listen or _LISTEN)
    names = _names(wanted.names or [])
    bounds, period_s = _bounds(wanted)
    folder = folder or _folder(shown, f"{host}:{port}")
    logging.basicConfig(format="rockdove autoscale: %(message)s", level=logging.WARNING)
    flags = [] if wanted.data is None else ["--data", str(wanted.data)]
    flags += [] if config is None else ["--config", str(config)]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = ReportFile(folder / "controller.lock")
    except Taken:
        raise Failure(
            f"another controller has {folder}; end it, or choose another --folder and --listen", Code.REFUSED
        ) from None
    except OSError as error:
        raise Failure(f"--folder: cannot write to {folder}: {error.strerror or error}") from None
    try:
        nginx = Nginx(folder, host, port, names)
        fleet = LocalFleet(folder, flags)
        # For front-ends. Others of this machine can read command lines, and it may have a password.
        os.environ["ROCKDOVE_STORE"] = store
        asyncio.run(_run(fleet, nginx, bounds, period_s, host, shown, drain, for_s, output))
    except FrontEndError as error:
        raise Failure(str(error)) from None
    finally:
        lock.close()


async def _run(
    fleet: "LocalFleet",
    nginx: "Nginx",
    bounds: "Bounds",
    period_s: float,
    host: str,
    shown: str,
    drain: bool,
    for_s: float | None,
    output: Output,
) -> None:
    from rockdove.elastic.front_end.controller import FrontEnds

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if for_s is not None:
        loop.call_later(for_s, stopped.set)
    with _view(shown, output) as watcher:
        controller = FrontEnds(fleet, nginx, bounds, period_s, watcher, lambda url: _check_door(host, shown, url))
        try:
            await controller.run(stopped)
        finally:
            await controller.close(drain)


def _check_door(host: str, shown: str, url: str) -> None:
    """Front-ends listen on loopback; where nginx listens for others, there must be accounts to keep them out."""
    from rockdove.elastic.front_end.page import lets_anybody_in

    if not ipaddress.ip_address(host).is_loopback and lets_anybody_in(url):
        raise Failure(
            f"will not listen on {host}: others could reach it there, and there are no accounts to keep them out; add "
            f'one with "rockdove account add NAME --store {shown} --data DIR" and give --data DIR here, or listen on '
            "127.0.0.1",
            Code.REFUSED,
        )


# What the flags mean.


def _store(text: str | None) -> tuple[str, str]:
    """As it was given, and without a password."""
    from rockdove.store.registry import UnknownStore, locate

    if text is None:
        raise Failure(f"say which store the front-ends share: --store {_STORES}", Code.USAGE)
    try:
        location = locate(text, Path("data"))
    except UnknownStore as error:
        raise Failure(f"--store: {error}", Code.USAGE) from None
    if location.kind.servers is None:
        raise Failure(
            f"--store: one process has the store {location.name!r} for itself, so there is nothing to share; use "
            f'{_STORES}, or give "rockdove serve" more --workers',
            Code.USAGE,
        )
    return text, location.shown


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        return str(ipaddress.ip_address(host.strip("[]"))), _port(port)
    except ValueError:
        raise Failure(f"--listen is ADDRESS:PORT, such as {_LISTEN}, not {text!r}", Code.USAGE) from None


def _port(text: str) -> int:
    """Raises ValueError."""
    port = int(text)
    if not 0 < port < 65_536:
        raise ValueError
    return port


def _names(names: list[str]) -> list[str]:
    from rockdove.elastic.front_end.nginx import is_name

    for name in names:
        if not is_name(name.lower()):
            raise Failure(
                f"--allow-host: {name!r} is not the name of a host; write it without a scheme and a port", Code.USAGE
            )
    return [name.lower() for name in names]


def _bounds(wanted: Wanted) -> "tuple[Bounds, float]":
    from rockdove.capacity.scaling.front_ends import Bounds

    least = wanted.least or 1
    most = wanted.most or max(len(os.sched_getaffinity(0)), least)
    high_ms = 200.0 if wanted.high_ms is None else wanted.high_ms
    low_ms = high_ms / 4 if wanted.low_ms is None else wanted.low_ms
    period_s = wanted.period_s or 10.0
    if most < least:
        raise Failure(f"--max {most} is less than --min {least}", Code.USAGE)
    if low_ms >= high_ms:
        raise Failure(
            f"--low-ms {low_ms:g} is not below --high-ms {high_ms:g}: front-ends would come and go all the time",
            Code.USAGE,
        )
    return Bounds(
        least=least,
        most=most,
        low_s=low_ms / 1000,
        high_s=high_ms / 1000,
        high_bytes=None if wanted.high_bytes is None else _size(wanted.high_bytes),
        safety_s=3 * period_s if wanted.safety_s is None else wanted.safety_s,
    ), period_s


def _size(text: str) -> float:
    digits = text.lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 1.0)
    try:
        size = float(digits if unit == 1.0 else digits[:-1]) * unit
    except ValueError:
        size = 0.0
    if not 0 < size < 1e18:
        raise Failure(f"--high-bytes is a size such as 500MB or 10GB, not {text!r}", Code.USAGE)
    return size


def _folder(store: str, listen: str) -> Path:
    """The same for the next controller of the same user."""
    name = hashlib.sha256(f"{store} {listen}".encode()).hexdigest()[:12]
    return own_folder("rockdove-front-ends") / name


# What one sees.


@contextmanager
def _view(store: str, output: Output) -> "Iterator[Watcher]":
    """On a terminal a table that changes, with --json a line for each round, elsewhere a line for each decision."""
    if output.as_json:
        yield output.record
        return
    if not sys.stdout.isatty():
        shown = time.time()

        def tell(told: "Round") -> None:
            nonlocal shown
            for each in told.decisions:
                if each.at > shown:
                    output.line(f"{each.act.value}: {each.reason}")
            shown = max([shown, *(each.at for each in told.decisions)])

        yield tell
        return
    from rich.live import Live

    from rockdove.cli.scaling import front_ends

    with Live(refresh_per_second=4) as live:
        yield lambda told: live.update(front_ends(store, told))
