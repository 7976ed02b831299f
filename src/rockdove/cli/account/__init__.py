"""``rockdove account``: the commands on accounts, one file each."""

from rockdove.cli.account.group import app

__all__ = ["app"]
