"""Where the accounts are that a command is about: a running service, a data folder, or a shared store."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.service import connect
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.client.step import Names, Steps

T = TypeVar("T")

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")]


class AccountPlace(Protocol):
    """What can carry out the steps of `rockdove.client.account`."""

    names: Names

    def run(self, steps: Steps[T]) -> T: ...


class Reach(Protocol):
    """Opens the one place that the command line names; the service, if it names none."""

    def __call__(self, create: bool = False) -> AbstractContextManager[AccountPlace]:
        """``create``: a folder may be new."""


def with_place(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags that say where the accounts are, instead of its parameter ``reach``."""

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        where = {name: values.pop(name) for name in _WHERE}
        del values["config"]
        command(**values, reach=functools.partial(_reach, **where))

    signature = inspect.signature(command)
    own = [one.replace(kind=_KEYWORD) for one in signature.parameters.values() if one.name != "reach"]
    parameters = [*own[:-1], *inspect.signature(_flags).parameters.values(), own[-1]]
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_WHERE = ("ctx", "folder", "store_url", "endpoint", "region")


def _flags(
    *,
    ctx: typer.Context,
    # Not named as the service's settings are: a folder in rockdove.toml is the one that the service holds.
    folder: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Open the data folder of a service that does not run. With --store, where its key file is.",
        ),
    ] = None,
    store_url: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="URL", help="Open a store directly: sqlite:DIR, redis://... or cassandra://..."
        ),
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
) -> None:
    """What every command on accounts takes, before its last parameter, which is ``as_json``."""


@contextmanager
def _reach(
    ctx: typer.Context,
    folder: Path | None,
    store_url: str | None,
    endpoint: str,
    region: str | None,
    create: bool = False,
) -> Iterator[AccountPlace]:
    is_local = folder is not None or store_url is not None
    if is_local and _is_flag(ctx, "endpoint"):
        raise Failure("--endpoint asks a service, --data and --store open its store; give one of them", Code.USAGE)
    if folder is not None and store_url is not None and "//" not in store_url:
        raise Failure("--data and --store both name a folder; give one of them", Code.USAGE)
    if folder is None and store_url is None:
        with connect(endpoint, region) as client:
            yield client
        return
    # It brings the whole store along, which who asks a service need not wait for.
    from rockdove.cli.account.local import Local, located

    with Local(located(store_url or "sqlite", folder), create) as local:
        yield local


def _is_flag(ctx: typer.Context, parameter: str) -> bool:
    """Whether it was given on the command line, and not by the environment or a file."""
    source = ctx.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"
