"""Commands that are imported when they are called: ``rockdove version`` need not wait for the server's modules."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rockdove.cli.failure import Code


class Commands(MutableMapping[str, Any]):
    """Typer's commands by name, each made from the function of that name in a module when it is looked up."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Any:
        module, _, member = self._places[name].partition(":")
        found = getattr(import_module(module), member)
        if not isinstance(found, typer.Typer):
            app = new_app()
            app.command(name, cls=_Command)(found)
            found = app
        made = get_command(found)
        made.name = name
        return made

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class _QuickHelp:
    """A help flag that is off unless given: Typer imports pydantic, 0.1 s, to find out what an absent one means."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.default = False
        return option


class _Command(_QuickHelp, TyperCommand):
    pass


class LazyGroup(_QuickHelp, TyperGroup):
    """A group whose commands are in other modules. Subclasses say where, as ``module:function``."""

    places: dict[str, str] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands(self.places)


def help_if_alone(ctx: typer.Context) -> None:
    """A group that is called without a command tells which there are."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit(Code.USAGE)


def new_app(**options: Any) -> typer.Typer:
    """Plain help and plain errors: they are read in logs, too."""
    return typer.Typer(
        add_completion=False, rich_markup_mode=None, context_settings={"max_content_width": 100}, **options
    )
