"""What a watch shows on a terminal."""

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from rockdove.cli.output import Output
from rockdove.cli.watching import Living, view
from rockdove.spark.watch.batch import Done, Row
from rockdove.spark.watch.progress import Problem, Progress
from tests.support.watch_row import PROGRESS, row


def screen(width: int, height: int = 30) -> tuple[Output, io.StringIO]:
    text, output = io.StringIO(), Output()
    output._console = Console(file=text, width=width, height=height, force_terminal=True, color_system=None)
    return output, text


def show(width: int, rows: list[Row], progress: Progress = PROGRESS, height: int = 30) -> str:
    output, text = screen(width, height)
    with Living(output, PROGRESS) as living:
        living.show(Done(progress, rows, []))
    return text.getvalue()


ROW: dict[str, Any] = {"sent": 500, "arrival_rate": 50.0, "service_rate": 49.0, "duplicates": 3, "response_p50_ms": 0.7}
ROW |= {"response_p95_ms": 1.8, "response_p99_ms": 2.9}


@pytest.mark.parametrize(("width", "bars", "delivery"), [(160, True, True), (110, False, True), (80, False, False)])
def test_a_narrow_terminal_shows_less(width: int, bars: bool, delivery: bool) -> None:
    shown = show(width, [row(0, arrival_rate=25.0), row(1, **ROW)])
    assert "0.7 1.8 2.9" in shown
    assert "…" not in shown.replace("out …", "")
    assert ("▄█" in shown, "delivery" in shown) == (bars, delivery)


def test_the_busiest_queues_are_shown_if_not_all_can_be() -> None:
    shown = show(160, [row(0, f"queue-{n}", sent=n) for n in range(40)], height=20)
    assert "queue-39" in shown
    assert "queue-3 " not in shown
    assert "and 29 queues with less traffic" in shown


def test_what_went_wrong_is_on_the_last_line_and_files_are_named_once() -> None:
    bad = msgspec.structs.replace(
        PROGRESS, events=7, files=3, late=2, corrupt=1, removed=1, unread=4, problems=[Problem("/t/a.parquet", "torn")]
    )
    output, text = screen(160)
    with Living(output, PROGRESS) as living:
        for _ in range(2):
            living.show(Done(bad, [row(0)], []))
    shown = text.getvalue()
    assert shown.count("/t/a.parquet: torn") == 1
    assert "7 events in 3 files · 2 windows closed, 0 open · 2 late events · 1 corrupt file · " in shown
    assert "1 file removed before being read · 4 events not readable" in shown


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "a\\x1bb" in show(160, [row(0, "a\x1bb")])


def test_nothing_yet() -> None:
    output, text = screen(80)
    with Living(output, PROGRESS):
        pass
    assert "waiting for the first file of the trace" in text.getvalue()


@pytest.mark.parametrize(
    ("as_json", "terminal", "once", "kind"),
    [
        (True, True, False, "Records"),
        (True, False, True, "Document"),
        (False, True, True, "Closing"),
        (False, True, False, "Living"),
        (False, False, False, "Lines"),
    ],
)
def test_who_looks_gets_what_suits_him(as_json: bool, terminal: bool, once: bool, kind: str) -> None:
    output = Output(as_json)
    output.is_terminal = terminal
    assert type(view(output, PROGRESS, once)).__name__ == kind
