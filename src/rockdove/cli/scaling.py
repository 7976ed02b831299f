"""An elastic queue, or front-ends, as a table that changes."""

import time
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rockdove.elastic.front_end.state import Round
    from rockdove.elastic.state import Decided, Published

_COLOURS = {"up": "green", "starting": "yellow", "draining": "cyan", "away": "red", "silent": "red", "ending": "cyan"}
_DECISIONS = 8


def picture(queue: str, published: "Published", paused: bool) -> RenderableType:
    arrival = "?" if published.arrival is None else f"{published.arrival:,.1f}"
    work = "?" if not published.service_s else f"{1 / published.service_s:,.1f}"
    head = Text.assemble(
        (queue, "bold"),
        f"  rule {published.policy}, {arrival} messages/s, a worker does {work}/s, ",
        f"{published.target} workers, {published.machines} machines",
        ("  paused" if paused else "", "bold red"),
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("worker", justify="right")
    table.add_column("state")
    for name in ("machine", "waiting", "in flight", "share", "done", "failed"):
        table.add_column(name, justify="right")
    for each in published.workers:
        table.add_row(
            str(each.number),
            Text(each.state, style=_COLOURS[each.state]),
            each.machine or "",
            f"{each.load:,}",
            f"{each.in_flight:,}",
            f"{each.share:.0%}",
            "" if each.done is None else f"{each.done:,}",
            f"{each.failed:,}" if each.failed else "",
        )
    return Group(head, "", table, "", *_lines(published.decisions))


def front_ends(store: str, told: "Round") -> RenderableType:
    size = "" if told.storage_bytes is None else f", {told.storage_bytes / 1e6:,.1f} MB stored"
    head = Text.assemble(
        (store, "bold"),
        f"  {told.requests / told.period_s:,.1f} requests/s, mean {_ms(told.mean_s)}{size}, {told.wanted} front-ends",
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("front-end", justify="right")
    table.add_column("state")
    table.add_column("address")
    for name in ("requests", "mean", "long polls", "connections"):
        table.add_column(name, justify="right")
    for each in told.front_ends:
        table.add_row(
            str(each.number),
            Text(each.state, style=_COLOURS[each.state]),
            (each.url or "").removeprefix("http://"),
            f"{each.requests:,}",
            _ms(each.mean_s),
            "" if each.long_polls is None else f"{each.long_polls:,}",
            "" if each.connections is None else f"{each.connections:,}",
        )
    return Group(head, "", table, "", *_lines(told.decisions))


def _ms(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds * 1000:,.1f} ms"


def _lines(decisions: "list[Decided]") -> list[Text]:
    return [
        Text(f"{time.strftime('%H:%M:%S', time.localtime(each.at))}  {each.act.value:7}  {each.reason}")
        for each in decisions[-_DECISIONS:]
    ]
