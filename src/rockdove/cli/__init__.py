"""The command line: one file a command."""

from rockdove.cli.start import main

__all__ = ["main"]
