"""``rockdove net``: the commands on Petri nets, one file each."""

from rockdove.cli.net.group import app

__all__ = ["app"]
