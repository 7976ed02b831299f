"""The page: what matters in large figures, then pictures over time, then queue by queue."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from rockdove.picture.plot import Line, chart, heat
from rockdove.picture.style import style as colours
from rockdove.picture.word import NOTHING, milliseconds, percent, short
from rockdove.spark.analysis import Analysis
from rockdove.spark.figure import TableRows

# TableRows of the table of queues; all of them are in the Parquet table.
_ROWS: Final = 50

Row = Mapping[str, Any]


def page(found: Analysis) -> str:
    style = files("rockdove.spark.report").joinpath("style.css").read_text()
    parts = [_head(found), _cards(found), _charts(found), _map(found), _table(found), _problems(found), _words(found)]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Rockdove: what the traces tell</title><style>{colours()}{style}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _head(found: Analysis) -> str:
    begin, end = (found.summary[name][:19].replace("T", " ") for name in ("from", "to"))
    queues = f"{len(found.queues):,} queue{'s' if len(found.queues) != 1 else ''}"
    return (
        f"<header><h1>What the traces tell</h1><p>{begin} to {end} UTC · {queues} · {found.events:,} events in "
        f"{found.files:,} file{'s' if found.files != 1 else ''}</p></header>"
    )


def _cards(found: Analysis) -> str:
    o = found.overall
    final = "final: the queues were drained" if found.drained else "not final: no drain was seen"
    response, delivery = found.summary["overall"]["response_ms"], found.summary["overall"]["delivery_ms"]
    cards = [
        ("sent", short(o["sent"]), f"{short(o['send_rate'])} a second", ""),
        ("received", short(o["received"]), f"{short(o['receive_delete_rate'])} deleted a second", ""),
        ("lost", short(o["lost"]), final, _mood(o["loss_rate"], found.drained)),
        ("duplicates", percent(o["duplication_rate"]), f"{short(o['duplicates'])} receives too many", ""),
        ("out of order", percent(o["out_of_order_rate"]), f"displacement {short(o['displacement'])}", ""),
        ("response, median", milliseconds(response["p50"]), f"99 % within {milliseconds(response['p99'])}", ""),
        ("delivery, median", milliseconds(delivery["p50"]), f"99 % within {milliseconds(delivery['p99'])}", ""),
        ("misses", percent(o["miss_ratio"]), f"{short(o['messages_per_hit'])} messages per hit", ""),
        ("utilisation", percent(o["utilisation"]), "of the time with a message in hand", ""),
        ("left", short(o["waiting"] + o["in_flight"]), f"{short(o['in_flight'])} of them in flight", ""),
    ]
    return f'<section class="cards">{"".join(_card(*card) for card in cards)}</section>'


def _card(name: str, value: str, said: str, mood: str) -> str:
    return f'<div class="card {mood}"><h2>{name}</h2><strong>{escape(value)}</strong><span>{escape(said)}</span></div>'


def _mood(loss: float | None, drained: bool) -> str:
    if not loss:
        return "good" if drained else ""
    return "bad" if drained else "open"


def _charts(found: Analysis) -> str:
    times = [row["window_start"].timestamp() for row in found.windows]

    def values(name: str) -> list[Any]:
        return [row[name] for row in found.windows]

    def percentiles(kind: str) -> list[Line]:
        return [Line(f"{at} %", values(f"{kind}_p{at}_ms"), colour) for colour, at in ((3, 99), (2, 95), (1, 50))]

    rates = [Line("sent", values("send_rate"), 1, True), Line("received and deleted", values("receive_delete_rate"), 2)]
    stays = [Line("waiting", values("waiting"), 1, True), Line("in flight", values("in_flight"), 2)]
    order = [
        Line("out of order", values("out_of_order_rate"), 1),
        Line("duplicates", values("duplication_rate"), 2),
    ]
    asks = [Line("misses of requests", values("miss_ratio"), 1), Line("utilisation", values("utilisation"), 2)]
    pictures = [
        ("Messages a second", rates, chart(times, rates, short)),
        ("Messages in the queues", stays, chart(times, stays, short)),
        ("Response time", percentiles("response"), chart(times, percentiles("response"), milliseconds, log=True)),
        ("Delivery: from send to first receive", percentiles("delivery"),
         chart(times, percentiles("delivery"), milliseconds, log=True)),
        ("Order and duplicates", order, chart(times, order, percent, least=0.01)),
        ("Misses and utilisation", asks, chart(times, asks, percent, least=0.1)),
    ]  # fmt: skip
    return f'<section class="charts">{"".join(_figure(*picture) for picture in pictures)}</section>'


def _figure(title: str, lines: Sequence[Line], picture: str) -> str:
    legend = "".join(f'<i class="c{line.colour}">{escape(line.name)}</i>' for line in lines)
    return f"<figure><figcaption><b>{escape(title)}</b><span>{legend}</span></figcaption>{picture}</figure>"


def _map(found: Analysis) -> str:
    if len(found.queues) < 2:
        return ""
    starts = [row["window_start"] for row in found.windows]
    names = list(found.windows_by_queue)
    levels = [{row["window_start"]: row["waiting"] for row in found.windows_by_queue[name]} for name in names]
    # Windows without anything have no row.
    rows = [[level.get(start, 0) for start in starts] for level in levels]
    if not any(value for row in rows for value in row):
        return ""
    busiest = "The queues" if len(names) == len(found.queues) else f"The {len(names)} busiest queues"
    picture = heat(names, [start.timestamp() for start in starts], rows, short)
    caption = f"<figcaption><b>{busiest}: messages waiting</b><span>the darker, the more</span></figcaption>"
    return f'<figure class="wide">{caption}{picture}</figure>'


_COLUMNS: Final = (
    ("sent", "sent", short),
    ("received", "received", short),
    ("lost", "lost", short),
    ("duplicates", "duplication_rate", percent),
    ("out of order", "out_of_order_rate", percent),
    ("displacement", "displacement", short),
    ("response p99", "response_p99_ms", milliseconds),
    ("delivery p50", "delivery_p50_ms", milliseconds),
    ("delivery p99", "delivery_p99_ms", milliseconds),
    ("misses", "miss_ratio", percent),
    ("utilisation", "utilisation", percent),
    ("waiting", "waiting", short),
)


def _table(found: Analysis) -> str:
    concerns = _concerns(found.queues)
    order = sorted(range(len(concerns)), key=concerns.__getitem__, reverse=True)
    shown = [found.queues[at] for at in order[:_ROWS]]
    most = {name: max((row[name] or 0 for row in shown), default=0) for _, name, _ in _COLUMNS}
    head = "".join(f"<th>{escape(title)}</th>" for title, _, _ in _COLUMNS)
    body = "".join(
        f'<tr><th scope="row">{escape(row["name"])}</th>'
        + "".join(_cell(row[name], word(row[name]), most[name]) for _, name, word in _COLUMNS)
        + "</tr>"
        for row in shown
    )
    rest = len(found.queues) - len(shown)
    more = f"<p>{rest:,} more in the table queues/.</p>" if rest else ""
    table = f'<table><thead><tr><th scope="col">queue</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f"<section><h2>Queues, those to look at first</h2><div class='scroll'>{table}</div>{more}</section>"


def _concerns(queues: TableRows) -> list[tuple[int, int, int]]:
    """Of each queue: loss first, then what was sent."""
    columns = [queues.column(name) for name in ("lost", "damaged", "duplicates", "sent")]
    return [(lost + damaged, duplicates, sent) for lost, damaged, duplicates, sent in zip(*columns, strict=True)]


def _cell(value: Any, text: str, most: float) -> str:
    share = 100 * (value or 0) / most if most else 0
    return f'<td style="--share:{share:.0f}%">{escape(text)}</td>'


def _problems(found: Analysis) -> str:
    if not found.problems:
        return ""
    rows = "".join(f"<li><code>{escape(problem.path)}</code> {escape(problem.what)}</li>" for problem in found.problems)
    title = f"Files that did not count, or not fully: {len(found.problems):,}"
    return f'<section class="problems"><h2>{title}</h2><ul>{rows}</ul></section>'


def _words(found: Analysis) -> str:
    columns = [found.queues.column(name) for name in ("name", "sent", "drained")]
    open_queues = [name for name, sent, drained in zip(*columns, strict=True) if sent and not drained]
    if open_queues:
        named = ", ".join(open_queues[:5]) + (", ..." if len(open_queues) > 5 else "")
        drain = (
            f"{len(open_queues):,} of {len(found.queues):,} queues ({escape(named)}) were not seen empty after the "
            "last send and receive: what counts as lost there may still be waiting."
        )
    else:
        drain = "Every queue was asked once more after its last message, and gave none: what counts as lost is lost."
    by_sender = [rate for rate in found.queues.column("sender_out_of_order_rate") if rate is not None]
    sender = (
        f"Within the messages of one sender, up to {percent(max(by_sender))} of a queue were out of order. "
        if by_sender
        else ""
    )
    return (
        f"<footer><p>{drain}</p><p>{sender}Windows are {found.window_s:g} s long. Out of order: the share of messages "
        "outside the longest run that is in the order of sending, duplicates left out. Displacement: how many places a "
        f"message was received from its place, on average. {NOTHING} means that the traces do not tell.</p></footer>"
    )
