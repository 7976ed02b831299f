"""The settings of the paper's figures, and what is to hold of them."""

import pytest

from rockdove.cli.bench.figure import HOLDS, FigureRow
from rockdove.workload.figures import FIGURES, settings


@pytest.mark.parametrize("figure", FIGURES)
def test_settings(figure: str) -> None:
    usual, few = settings(figure, 1.0), settings(figure, 0.001)
    assert {each.figure for each in usual} == {figure}
    # Each is a place on a line of its own.
    assert len({(each.series, each.x) for each in usual}) == len(usual)
    assert all(each.workload.messages == 1 for each in few)
    assert [each.workload.queues for each in few] == [each.workload.queues for each in usual]
    for each in usual:
        assert each.front_ends <= 3
        # A receiver of a queue has a front-end of its own, where it matters.
        assert figure != "fig6" or each.front_ends > 1


def test_services_go_on_unless_they_differ_or_were_killed() -> None:
    same = settings("fig6", 1.0)
    assert all(each.goes_on(before) for each, before in zip(same[1:], same, strict=False))
    rates = settings("fig4", 1.0)
    assert sum(not each.goes_on(before) for each, before in zip(rates[1:], rates, strict=False)) == 2
    killed = settings("fig8", 1.0)
    assert not any(each.goes_on(before) for each, before in zip(killed[1:], killed, strict=False))


def row(series: str, x: float, **figures: float) -> FigureRow:
    times: dict[str, float | None] = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    known = {
        "sent": 100,
        "lost": 0,
        "duplicates": 0,
        "duplication_rate": 0.0,
        "out_of_order_rate": 0.0,
        "displacement": 0.0,
        "send_rate": 1.0,
        "receive_delete_rate": 1.0,
        "failures": 0,
        "killed": 0,
    }
    return FigureRow(series=series, x=x, send_ms=times, receive_ms=times, **{**known, **figures})  # type: ignore[arg-type]


def fig6(**changes: dict[str, float]) -> list[FigureRow]:
    far = {"1": 0.0, "2": 0.5, "3": 1.0, "none": 40.0}
    twice = {"1": 0.3, "2": 0.2, "3": 0.1, "none": 0.0}
    return [
        row(
            f"{claim}, K = {hint}",
            x,
            **{
                "displacement": far[hint],
                "duplication_rate": twice[hint] if claim != "strict" and x > 1 else 0.0,
                **changes.get(claim, {}),
            },
        )
        for claim in ("literal", "fast", "strict")
        for hint in far
        for x in (1, 2, 3)
    ]


def test_figure_6_holds() -> None:
    assert all(HOLDS["fig6"](fig6()).values())
    broken = HOLDS["fig6"](fig6(strict={"duplicates": 1}))
    assert [claim for claim, is_true in broken.items() if not is_true] == ["strict: no duplicates"]
    broken = HOLDS["fig6"](fig6(literal={"duplication_rate": 0.1}))
    assert [claim for claim, is_true in broken.items() if not is_true] == [
        "literal: duplicates fall from K = 1 to 3 to none"
    ]
    broken = HOLDS["fig6"](fig6(fast={"displacement": 3.0}))
    assert [claim for claim, is_true in broken.items() if not is_true] == [
        "fast: displacement at K = 3 is at most a tenth of that without order"
    ]
    assert not HOLDS["fig6"](fig6(fast={"lost": 1}))["no message is lost"]


def test_figures_7_and_8_hold() -> None:
    rows = [row("K = 1", x, duplication_rate=4 * x) for x in (0.0001, 0.001, 0.01, 0.1)]
    assert all(HOLDS["fig7"](rows).values())
    rows[2] = row("K = 1", 0.01, out_of_order_rate=0.2)
    assert not all(HOLDS["fig7"](rows).values())
    rows = [row("quorum", 60), row("one", 60, lost=1)]
    assert all(HOLDS["fig8"](rows).values())
    assert not all(HOLDS["fig8"]([row("quorum", 60, lost=1)]).values())
