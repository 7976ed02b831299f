"""Passwords in, secrets out: never as an argument, which others can see, and shown once."""

import getpass
import sys

from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note


def read_password() -> str:
    """All of standard input, without the end of its line. In UTF-8, whatever the locale: as other machines read it."""
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Failure("the password on standard input is not UTF-8 text", Code.USAGE) from None


def ask_password(name: str) -> str:
    """Twice, without showing it. Raises `Failure` if there is no terminal to ask on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure("there is no terminal to ask on; say --password-stdin to read it from there", Code.USAGE)
    password = getpass.getpass(f"New password of {name}: ")
    if getpass.getpass("Once more: ") != password:
        raise Failure("the two passwords differ; nothing was changed", Code.USAGE)
    return password


def show_key(output: Output, name: str, account_id: str, access_key: str, secret_key: str) -> None:
    output.facts(
        [("account", name), ("id", account_id), ("access key", access_key), ("secret key", secret_key)],
    )
    note("keep the secret key now: it is not shown again")
