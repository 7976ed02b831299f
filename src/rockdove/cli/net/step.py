"""``rockdove net step``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rockdove.cli import option
from rockdove.cli.net import subject
from rockdove.cli.output import Output, note

if TYPE_CHECKING:
    from rockdove.capacity.petri import Binding, Simulator

_HELP = "number: fire that one; Enter: any; a number with + before it: that many at random; m: marking; q: end"
# Choices that are listed; a token of a full place may have hundreds.
_LISTED = 20


def step(
    net: subject.Name,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="N", help="Take N random steps, without asking.", min=0)
    ] = None,
    seed: subject.Seed = 1,
    consistency: subject.Option = subject.Order.OUT_OF_ORDER,
    as_json: option.Json = False,
) -> None:
    """Step through a net: choose what fires next, and see where the tokens go.

    Choices are read from standard input, a line each. When nothing can fire, model time goes on. Of the model's pages
    the whole runs, and the page's tokens are shown. With --json, a line for each firing.

    \b
    Examples:
      rockdove net step Layer_1
      rockdove net step mine.py:net --steps 10 --json
    """
    found = subject.find(net, consistency)
    session = _Session(found, found.run(seed), Output(as_json))
    if steps is None:
        session.ask()
    else:
        session.take(steps)


class _Session:
    def __init__(self, found: subject.Subject, run: Simulator, output: Output) -> None:
        self._found = found
        self._run = run
        self._output = output

    def take(self, steps: int) -> bool:
        """Random ones; False when there are no more."""
        for _ in range(steps):
            fired = self._run.step()
            if fired is None:
                note("nothing can fire any more")
                return False
            self._tell(fired)
        return True

    def ask(self) -> None:
        note(_HELP)
        self._show_marking()
        while choices := self._choices():
            for number, choice in enumerate(choices[:_LISTED], 1):
                note(f"  {number}  {self._run.describe(choice)}")
            if len(choices) > _LISTED:
                note(f"  and {len(choices) - _LISTED} more")
            print("> ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line or line.strip() in ("q", "quit", "exit"):
                return
            if not self._obey(line.strip(), choices):
                return
        note("nothing can fire any more")

    def _choices(self) -> list[Binding]:
        while not (choices := self._run.enabled()):
            if not self._run.advance():
                return []
        return choices

    def _obey(self, word: str, choices: list[Binding]) -> bool:
        if word == "m":
            self._show_marking()
        elif word == "":
            before = self._marking()
            self.take(1)
            self._show_marking(before)
        elif word.startswith("+") and word[1:].isdigit():
            return self.take(int(word[1:]))
        elif word.isdigit() and 1 <= int(word) <= len(choices):
            before = self._marking()
            self._run.fire(choices[int(word) - 1])
            self._tell(choices[int(word) - 1])
            self._show_marking(before)
        else:
            note(_HELP)
        return True

    def _tell(self, fired: Binding) -> None:
        time = self._run.now / self._found.whole.second
        if self._output.as_json:
            values = {name: _plain(value) for name, value in fired.values.items()}
            self._output.record({"time": time, "transition": fired.transition, "values": values})
        else:
            self._output.line(f"{time:.6f}  {self._run.describe(fired)}")

    def _marking(self) -> dict[str, str]:
        from rockdove.capacity.petri.dot import tokens_shown

        places, second = self._found.page.places, self._found.whole.second
        found = self._found.marking(self._run)
        return {name: ", ".join(tokens_shown(places[name], tokens, second)) for name, tokens in found.items()}

    def _show_marking(self, before: dict[str, str] | None = None) -> None:
        """All tokens, or those of places that are not as they were before."""
        for name, tokens in self._marking().items():
            if tokens if before is None else tokens != before[name]:
                note(f"  {name}: {tokens or 'empty'}")


def _plain(value: Any) -> Any:
    """Named tuples are objects in JSON, as records are."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
