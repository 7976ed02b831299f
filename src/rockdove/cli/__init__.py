"""The command line: one file a command."""

from rockdove.cli.main import main

__all__ = ["main"]
