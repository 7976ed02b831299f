"""``rockdove topic``: the commands on topics, one file each."""

from rockdove.cli.topic.group import app

__all__ = ["app"]
