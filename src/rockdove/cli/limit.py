"""A flag for each limit of the service, made from the limits themselves."""

import functools
import inspect
import logging
import resource
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from rockdove.server.limit import Limits

# Files of the store, of the log, and connections that are being turned away.
_OTHER_FILES = 200

# Of all connections, those that one address may have at most, if there is a limit for one.
ADDRESS_SHARE = 0.7

log = logging.getLogger("rockdove")

_FIELDS = msgspec.structs.fields(Limits)
NAMES = tuple(field.name for field in _FIELDS)


def _option(field: msgspec.structs.FieldInfo) -> inspect.Parameter:
    kind = msgspec.inspect.type_info(field.type)
    assert isinstance(kind, msgspec.inspect.Metadata)
    assert isinstance(kind.type, msgspec.inspect.IntType | msgspec.inspect.FloatType)
    option = typer.Option(
        metavar="N",
        envvar=f"ROCKDOVE_{field.name.upper()}",
        help=(kind.extra_json_schema or {})["description"],
        min=kind.type.ge,
        rich_help_panel="Limits",
    )
    number = int if isinstance(kind.type, msgspec.inspect.IntType) else float
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[number, option]
    )


def fitting(limits: Limits) -> Limits:
    """What the process may have open, it may have open; if connections could take all of it, fewer are let in."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = most - _OTHER_FILES
    if most != resource.RLIM_INFINITY and room < limits.max_connections:
        given = (most, room, limits.max_connections)
        log.warning("the limit of %d open files leaves room for %d connections, not %d", *given)
        limits = msgspec.structs.replace(limits, max_connections=max(room, 1))
    return shared(limits)


def shared(limits: Limits) -> Limits:
    """One address does not get all connections, however few there are."""
    most = max(int(limits.max_connections * ADDRESS_SHARE), 1)
    if limits.max_connections_per_address <= most:
        return limits
    log.warning(
        "one address may have %d connections, not %d: that is %d %% of all %d; 0 would let it have any number",
        *(most, limits.max_connections_per_address, 100 * ADDRESS_SHARE, limits.max_connections),
    )
    return msgspec.structs.replace(limits, max_connections_per_address=most)


def with_limits(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all these flags instead of its parameter ``limits``."""

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        limits = Limits(**{name: values.pop(name) for name in NAMES})
        command(**values, limits=limits)

    signature = inspect.signature(command)
    own = [one for one in signature.parameters.values() if one.name != "limits"]
    parameters = [*own, *map(_option, _FIELDS)]
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped
