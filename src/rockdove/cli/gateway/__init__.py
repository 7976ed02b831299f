"""``rockdove gateway``: other ways into queues, one file each."""

from rockdove.cli.gateway.group import app

__all__ = ["app"]
