"""``rockdove``: all commands under one name, and how all of them end."""

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from rockdove import __version__
from rockdove.cli.command import LazyGroup, help_if_alone, new_app
from rockdove.cli.failure import Code, ReaderGone, code_of, line_of
from rockdove.core.errors import RockdoveError

# Set, it shows where an unexpected error came from.
_TRACEBACK = "ROCKDOVE_TRACEBACK"


class _Root(LazyGroup):
    places = {
        "serve": "rockdove.cli.serve:serve",
        "queue": "rockdove.cli.queue:app",
        "topic": "rockdove.cli.topic:app",
        "send": "rockdove.cli.send:send",
        "receive": "rockdove.cli.receive:receive",
        "worker": "rockdove.cli.worker:worker",
        "autoscale": "rockdove.cli.autoscale:autoscale",
        "lease": "rockdove.cli.lease:app",
        "gateway": "rockdove.cli.gateway:app",
        "account": "rockdove.cli.account:app",
        "console": "rockdove.cli.console:console",
        "bench": "rockdove.cli.bench:app",
        "demo": "rockdove.cli.demo:demo",
        "backup": "rockdove.cli.backup:backup",
        "check": "rockdove.cli.check:check",
        "analyse": "rockdove.cli.analyse:analyse",
        "watch": "rockdove.cli.watch:watch",
        "net": "rockdove.cli.net:app",
        "calibrate": "rockdove.cli.calibrate:calibrate",
        "plan": "rockdove.cli.plan:plan",
        "prepare": "rockdove.cli.prepare:prepare",
        "simulate": "rockdove.cli.simulate:simulate",
        "version": "rockdove.cli.version:version",
    }


app = new_app(cls=_Root, invoke_without_command=True)


@app.callback()
def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print Rockdove's version.")] = False,
) -> None:
    """A message queue service that speaks Amazon SQS.

    \b
    Start a service, and try it from another terminal:
      rockdove serve
      rockdove queue create jobs
      rockdove send jobs "hello"
      rockdove receive jobs

    Settings come from flags, then from the environment (ROCKDOVE_PORT is --port), then from
    rockdove.toml in the current folder (port = 9324).

    \b
    Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 service unreachable, 5 refused.
    """
    if version:
        print(f"rockdove {__version__}")
        raise typer.Exit
    help_if_alone(ctx)


def main() -> None:
    if sys.stderr is None:
        # Where there is none, print would take standard output for it.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        # Before anything is done whose outcome nobody would learn: a message received, a key made.
        sys.exit(_end("standard output is closed; send it to /dev/null if it is not wanted", Code.FAILED))
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Do what a command line says; gives the exit code. Whatever goes wrong is one line on standard error."""
    try:
        code = get_command(app).main(args=list(arguments), prog_name="rockdove", standalone_mode=False)
        return code if isinstance(code, int) else Code.DONE
    except typer.TyperException as error:
        return _end(f"{_usage(error)}", Code.USAGE)
    except typer.Abort:
        return _end("stopped", Code.INTERRUPTED)
    except KeyboardInterrupt:
        return Code.INTERRUPTED
    except ReaderGone:
        return Code.DONE
    except RockdoveError as error:
        return _end(line_of(error), code_of(error))
    except Exception as error:
        return _defect(error)


def _usage(error: typer.TyperException) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "rockdove"
    return f'{text}; see "{path} --help"'


def _defect(error: Exception) -> int:
    if os.environ.get(_TRACEBACK):
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    return _end(
        f"unexpected {type(error).__name__}: {text}; run again with {_TRACEBACK}=1 to see where, and report it",
        Code.FAILED,
    )


def _end(line: str, code: Code) -> int:
    with contextlib.suppress(OSError):
        print(f"rockdove: {line}", file=sys.stderr)
    return code
