"""Where the accounts are that a command is about: a running service, a data folder, or a shared store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias, TypeVar

import typer

from rockdove.cli.failure import Code, Failure
from rockdove.cli.service import connect
from rockdove.client.step import Names, Steps

T = TypeVar("T")

_STORES = "sqlite:DIR"

# Not named as the service's settings are: a folder in rockdove.toml is the one that the service holds.
Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Open the data folder of a service that does not run."),
]
StoreUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help=f"Open a store that no service holds: {_STORES}."),
]


class Place(Protocol):
    """What can carry out the steps of `rockdove.client.account`."""

    names: Names

    def run(self, steps: Steps[T]) -> T: ...


@contextmanager
def reach(
    ctx: typer.Context,
    folder: Path | None,
    store_url: str | None,
    endpoint: str,
    region: str | None,
    create: bool = False,
) -> Iterator[Place]:
    """The one place that the command line names; the service, if it names none. ``create``: a folder may be new."""
    named = [folder is not None, store_url is not None, _is_flag(ctx, "endpoint")]
    if sum(named) > 1:
        raise Failure("--data, --store and --endpoint exclude each other; give one of them", Code.USAGE)
    if store_url is not None:
        folder = _folder_of(store_url)
    if folder is None:
        with connect(endpoint, region) as client:
            yield client
        return
    # It brings the whole store along, which who asks a service need not wait for.
    from rockdove.cli.account.local import Local

    with Local(folder, create) as local:
        yield local


def _is_flag(ctx: typer.Context, parameter: str) -> bool:
    """Whether it was given on the command line, and not by the environment or a file."""
    source = ctx.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _folder_of(store_url: str) -> Path:
    scheme, _, rest = store_url.partition(":")
    if scheme != "sqlite" or not rest:
        # Not all of it: a URL may hold a password.
        raise Failure(f"--store takes {_STORES}; there is no store {scheme[:32]!r} with accounts", Code.USAGE)
    return Path(rest)
