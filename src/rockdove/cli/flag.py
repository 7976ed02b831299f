"""A flag for each setting of the service, made from the settings themselves."""

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

import msgspec
import typer

from rockdove.cli import span, token
from rockdove.cli.failure import Code, Failure
from rockdove.core.arn import is_region
from rockdove.server import host, origin
from rockdove.server.flag import Flag
from rockdove.server.limit import Limits
from rockdove.server.setting import Settings
from rockdove.trace import KeepError, keep

S = TypeVar("S", bound=msgspec.Struct)


def _region(text: str) -> str:
    if not is_region(text):
        raise Failure(f"--region: {text!r} is no name of a region; it is letters, digits and hyphens", Code.USAGE)
    return text


# What a text means for a setting. Of a setting that is a tuple, each text of its flag is read.
_READERS: dict[str, Callable[[str], Any]] = {
    "region": _region,
    "metrics_token": lambda text: token.read(Path(text)),
    "trace_keep": keep.parse,
    "lease_keep_s": lambda text: span.seconds(text, "--lease-keep"),
    "cors_origin": origin.check,
    "allow_host": host.check,
}


class _Setting(NamedTuple):
    """A setting that has a flag."""

    field: msgspec.structs.FieldInfo
    type: Any
    flag: Flag

    @property
    def parameter(self) -> str:
        return self.flag.name or self.field.name

    @property
    def option(self) -> str:
        return f"--{self.parameter.replace('_', '-')}"


def _settings(kind: type[msgspec.Struct]) -> Iterator[_Setting]:
    for field in msgspec.structs.fields(kind):
        if get_origin(field.type) is Annotated:
            yield _Setting(field, *get_args(field.type))


def _parameter(setting: _Setting) -> inspect.Parameter:
    """Typer makes an option of it."""
    flag, default = setting.flag, _default(setting)
    option = typer.Option(
        # What is off by default needs no flag that turns it off.
        *([setting.option] if default is False else []),
        metavar=flag.metavar or ("N" if setting.type in (int, float) else None),
        envvar=f"ROCKDOVE_{setting.parameter.upper()}",
        help=flag.help,
        min=flag.min,
        max=flag.max,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(setting.parameter, kind, default=default, annotation=Annotated[_taken(setting), option])


def _default(setting: _Setting) -> Any:
    """None: without the flag the setting is what `Settings` makes it, such as the number of workers."""
    default = setting.flag.default or setting.field.default
    return None if default in ((), msgspec.NODEFAULT) else default


def _taken(setting: _Setting) -> Any:
    """The type of what the flag gives."""
    if get_origin(setting.type) is tuple:
        return list[str]
    return str if setting.field.name in _READERS else setting.type


def _build(kind: type[S], values: dict[str, Any]) -> S:
    """Takes what is its own out of the values that a command was given."""
    given = [(setting, values.pop(setting.parameter)) for setting in _settings(kind)]
    return kind(**{setting.field.name: _read(setting, value) for setting, value in given if value is not None})


def _read(setting: _Setting, value: Any) -> Any:
    reader = _READERS.get(setting.field.name)
    if reader is None:
        return value
    try:
        return tuple(map(reader, value)) if isinstance(value, list) else reader(value)
    except (KeepError, origin.OriginError, host.HostError) as error:
        raise Failure(f"{setting.option}: {error}", Code.USAGE) from None


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command flags for all settings and limits instead of its parameter ``settings``."""

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        settings = _build(Settings, values)
        settings.limits = _build(Limits, values)
        command(**values, settings=settings)

    own = [one for one in inspect.signature(command).parameters.values() if one.name != "settings"]
    parameters = [*map(_parameter, _settings(Settings)), *own, *map(_parameter, _settings(Limits))]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped
