"""``rockdove version``: what is running here."""

import platform
from importlib.metadata import version as installed

import apsw

from rockdove import __version__
from rockdove.cli import option
from rockdove.cli.output import Output


def version(as_json: option.Json = False) -> None:
    """Print the versions of Rockdove and of what it stands on.

    \b
    Example:
      rockdove version --json
    """
    versions = {
        "rockdove": __version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "uvloop": installed("uvloop"),
    }
    output = Output(as_json)
    if as_json:
        output.document(versions)
    else:
        for name, number in versions.items():
            output.line(f"{name:10}{number}")
