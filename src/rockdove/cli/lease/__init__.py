"""``rockdove lease``: the commands on leases, one file each."""

from rockdove.cli.lease.group import app

__all__ = ["app"]
