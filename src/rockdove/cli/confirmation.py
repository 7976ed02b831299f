"""Asking before something is gone for good."""

import sys

from rockdove.cli.failure import Code, Failure


def confirm(question: str, yes: bool) -> None:
    """Ask on the terminal, unless the answer was given beforehand. Raises `Failure` if it is not yes."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure("there is no terminal to ask on; say --yes to do it without asking", Code.REFUSED)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("nothing was changed", Code.REFUSED)
