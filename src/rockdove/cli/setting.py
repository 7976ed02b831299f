"""Settings from ``rockdove.toml``: what flags and the environment do not say."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import typer

from rockdove.cli.failure import Code, Failure
from rockdove.server.limit import Limits

FILE = "rockdove.toml"

_KINDS: dict[str, type] = {
    "host": str,
    "port": int,
    "data": str,
    "store": str,
    "replication": int,
    "consistency": str,
    "workers": int,
    "region": str,
    "trust_proxy": bool,
    "cool_down": bool,
    "metrics_queues": int,
    "metrics_token_file": str,
    "trace": str,
    "trace_keep": str,
    "lease_keep": str,
    "log_format": str,
    "log_level": str,
    "access_log": bool,
    "tls_cert": str,
    "tls_key": str,
    "cors_origin": list,
    "allow_host": list,
    **{field.name: float if field.name.endswith("_s") else int for field in msgspec.structs.fields(Limits)},
    "endpoint": str,
}
_PATHS = {"data", "metrics_token_file", "trace", "tls_cert", "tls_key"}
_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of texts",
}


def apply(ctx: typer.Context, config: Path | None) -> Path | None:
    """Make the file's settings the defaults of a command. Runs before its other options are looked at."""
    if not ctx.resilient_parsing:
        ctx.default_map = read(config) if config is not None else read(Path(FILE), missing_is_fine=True)
    return config


CONFIG = typer.Option(
    "--config",
    metavar="FILE",
    envvar="ROCKDOVE_CONFIG",
    help=f"Settings file instead of ./{FILE}.",
    show_envvar=False,
    is_eager=True,
    callback=apply,
)


def read(path: Path, missing_is_fine: bool = False) -> dict[str, Any]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        if missing_is_fine:
            return {}
        raise Failure(f"the settings file {path} does not exist", Code.USAGE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read the settings file {path}: {error}", Code.USAGE) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"{path} is not TOML: {error}", Code.USAGE) from None
    for key, value in document.items():
        _check(path, key, value)
    for key in _PATHS & document.keys():
        # What a file names is meant from where the file is.
        document[key] = str(path.parent / document[key])
    return document


def _check(path: Path, key: str, value: object) -> None:
    kind = _KINDS.get(key)
    if kind is None:
        raise Failure(f"{path}: there is no setting {key!r}; those there are: {', '.join(_KINDS)}", Code.USAGE)
    if kind is float and type(value) is int:
        return
    if type(value) is not kind or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
        raise Failure(f"{path}: {key} must be {_WORDS[kind]}, not {value!r}", Code.USAGE)
