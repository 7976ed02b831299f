"""``rockdove queue``: the commands on queues, one file each."""

from rockdove.cli.queue.group import app

__all__ = ["app"]
