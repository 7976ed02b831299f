"""What a demo shows while it runs: a table on a terminal, elsewhere a line every few seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rockdove.cli.output import Output, note

if TYPE_CHECKING:
    from rockdove.workload.ramp import Sampled

See = Callable[["Sampled", dict[str, Any]], None]
# Seconds between two lines.
_EVERY: Final = 5


@contextmanager
def view(queue: str, duration_s: float, output: Output) -> Iterator[See]:
    if output.as_json or not output.is_terminal:
        # With --json, standard output is for the report.
        say = note if output.as_json else output.line
        counted = 0

        def tell(sampled: "Sampled", published: dict[str, Any]) -> None:
            nonlocal counted
            if counted % _EVERY == 0:
                say(line(sampled, published, duration_s))
            counted += 1

        yield tell
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from rockdove.cli.scaling import picture
    from rockdove.elastic.state import Published

    with Live(refresh_per_second=4, console=output.console) as live:

        def show(sampled: "Sampled", published: dict[str, Any]) -> None:
            head = Text(line(sampled, published, duration_s), style="bold")
            if not published:
                live.update(head)
                return
            live.update(Group(head, "", picture(queue, msgspec.convert(published, Published), False)))

        yield show


def line(sampled: "Sampled", published: dict[str, Any], duration_s: float) -> str:
    at = f"{sampled.t:3.0f} of {duration_s:.0f} s"
    if not sampled.t:
        at = "waiting for the first figures of the watch"
    elif sampled.t > duration_s:
        at = "all is sent"
    by = "the watch tells" if published.get("watched") else "the workers tell"
    return (
        f"{at}: {sampled.production:.0f} messages/s, at most {sampled.max_load} wait in a queue, "
        f"{sampled.workers} workers on {sampled.machines} machines, by what {by}"
    )
