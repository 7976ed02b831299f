"""``rockdove demo``."""

from rockdove.cli.demo.command import demo

__all__ = ["demo"]
