"""Which net a command is about: one of the paper's, or one in a file."""

from __future__ import annotations

import importlib.util
import runpy
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from rockdove.cli.failure import Code, Failure
from rockdove.core.errors import RockdoveError

if TYPE_CHECKING:
    from rockdove.capacity.petri import Net, Simulator, Token

# numba is not needed here: what is there without the extra is enough to say so.
_NEEDED = ("numpy", "scipy")
# Firings after which we look whether time goes on, and how often we look: minutes of work.
_FIRINGS = 100_000
_LOOKS = 100


class Order(StrEnum):
    """The paper's two options, as the models name them."""

    OUT_OF_ORDER = "out_of_order"
    IN_ORDER = "in_order"


Name: TypeAlias = Annotated[str, typer.Argument(metavar="NET", help="A net's name, or FILE.py:NAME.")]
Option: TypeAlias = Annotated[
    Order, typer.Option("--option", metavar="NAME", help="out_of_order or in_order, of the paper's nets.")
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all that is random.")]


@dataclass(frozen=True)
class Subject:
    """`page` is what was asked for; `whole` is what runs, and `path` leads from it to the page."""

    page: Net
    whole: Net
    path: str = ""

    def run(self, seed: int) -> Simulator:
        from rockdove.capacity.petri import Simulator

        return Simulator(self.whole, seed=seed)

    def run_to(self, run: Simulator, time_s: float) -> None:
        """Raises `Failure` for a net that never gets there, or only after more than anybody waits for."""
        for _ in range(_LOOKS):
            before = run.now
            if run.run(time_s * self.whole.second, firings=_FIRINGS) < _FIRINGS:
                return
            if run.now == before:
                raise Failure(
                    f"net {self.whole.name} does not get to {time_s:g} s: it fired {_FIRINGS:,} times while its time "
                    f'stood at {run.now / self.whole.second:g} s; look at it with "rockdove net step"'
                )
        raise Failure(
            f"net {self.whole.name} does not get to {time_s:g} s within {_FIRINGS * _LOOKS:,} firings: it is at "
            f"{run.now / self.whole.second:g} s; ask for an earlier time"
        )

    def marking(self, run: Simulator) -> dict[str, list[Token]]:
        from rockdove.capacity.petri.dot import page_marking

        return page_marking(run, self.page, self.path)


def require() -> None:
    """Raises `Failure` if the extra is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise Failure(f'{" and ".join(missing)} not found; install the models with: pip install "rockdove[capacity]"')


def usual(option: Order) -> Any:
    """The system of the paper's experiments, at five threads each."""
    from rockdove.capacity.vma.scenario import Option as Consistency
    from rockdove.capacity.vma.scenario import Scenario

    return Scenario(
        arrival=30.3,
        sender_rate=10,
        broker_rate=10,
        n1=5,
        n2=5,
        q=0.99,
        link_s=0.02,
        option=Consistency(option.value),
    )


def find(name: str, option: Order) -> Subject:
    """Raises `Failure`."""
    require()
    if ":" in name:
        net = _load(*name.rsplit(":", 1))
        return Subject(net, net)
    from rockdove.capacity.vma.net.catalogue import NETS
    from rockdove.capacity.vma.net.layer import layer_1

    scenario = usual(option)
    wanted = name.lower().replace("-", "_")
    for entry in NETS:
        if entry.name.lower() == wanted:
            return Subject(entry.build(scenario), layer_1(scenario), entry.path)
    there = ", ".join(entry.name for entry in NETS)
    raise Failure(f"there is no net {name}; there are {there}, and FILE.py:NAME is one of yours", Code.NOT_FOUND)


def _load(file: str, name: str) -> Net:
    from rockdove.capacity.petri import Net

    if not Path(file).is_file():
        raise Failure(f"there is no file {file}", Code.NOT_FOUND)
    there = _obey(file, lambda: runpy.run_path(file))
    if name not in there:
        raise Failure(f"{file} has no net {name}", Code.NOT_FOUND)
    found = there[name]
    made = _obey(f"{name} of {file}", found) if callable(found) else found
    if not isinstance(made, Net):
        raise Failure(
            f"{name} of {file} is no net but of type {type(made).__name__}; name a Net, or a function without "
            "arguments that makes one",
            Code.NOT_FOUND,
        )
    return made


def _obey(what: str, make: Callable[[], Any]) -> Any:
    """The user's own code; what it raises is his, with the line where it happened."""
    try:
        return make()
    except RockdoveError:
        raise
    except Exception as error:
        raise Failure(f"{what} failed{_line(error)}: {type(error).__name__}: {error}") from error


def _line(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return ""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "" if last.filename == __file__ else f" in line {last.lineno} of {last.filename}"
