"""``rockdove bench``: the commands that measure, one file each."""

from rockdove.cli.bench.group import app

__all__ = ["app"]
