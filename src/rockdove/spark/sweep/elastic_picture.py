"""Figures 4 to 8 of the paper on elastic queues, and the rules compared, as pictures."""

from functools import partial
from typing import TYPE_CHECKING, Final

from rockdove.capacity.scaling.experiment import PAPER, ElasticDrawn, ElasticFigure, ElasticRun
from rockdove.core.elastic import ScalingPolicy
from rockdove.spark.sweep.picture import COLOURS, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES: Final = {
    ElasticFigure.ELASTIC4: "Fig. 4: one worker a machine, none kept ready",
    ElasticFigure.ELASTIC5: "Fig. 5: two workers a machine, none kept ready",
    ElasticFigure.ELASTIC6: "Fig. 6: two workers a machine, one machine kept ready",
    ElasticFigure.ELASTIC7: "Fig. 7: eight times as steep, one machine kept ready",
    ElasticFigure.ELASTIC8: "Fig. 8: eight times as steep, two machines kept ready",
    ElasticFigure.POLICIES: "Rules: how late messages are, and what that costs",
}


def picture(drawn: ElasticDrawn) -> bytes:
    """An SVG file; of a figure of the paper, its own configuration. Raises `MissingExtra`."""
    title = _TITLES[drawn.figure]
    if drawn.figure is not ElasticFigure.POLICIES:
        own = drawn.runs[0]
        return svg(drawn.figure.value, title, [partial(_draw_load, run=own)], [partial(_draw_workers, run=own)])
    shapes = list(dict.fromkeys(run.production for run in drawn.runs))
    panels = [
        partial(_draw_rules, shape=shape, runs=[run for run in drawn.runs if run.production == shape])
        for shape in shapes
    ]
    return svg(drawn.figure.value, title, panels[:2], panels[2:])


def _draw_load(axes: "Axes", run: ElasticRun) -> None:
    times = [sample.t for sample in run.samples]
    axes.plot(times, [each.production for each in run.samples], color=COLOURS[0], label="production, messages/s")
    axes.plot(times, [each.max_load for each in run.samples], color=COLOURS[1], label="greatest load, messages")
    axes.axhline(PAPER.max_load, color=COLOURS[1], linestyle=":", linewidth=1, label="maxLoad")
    axes.set_ylim(bottom=0)
    _frame(axes, "")


def _draw_workers(axes: "Axes", run: ElasticRun) -> None:
    times = [sample.t for sample in run.samples]
    axes.step(times, [each.workers for each in run.samples], color=COLOURS[2], where="post", label="workers")
    axes.step(times, [each.machines for each in run.samples], color=COLOURS[3], where="post", label="machines")
    axes.set_ylim(bottom=0)
    _frame(axes, "seconds")


def _draw_rules(axes: "Axes", shape: str, runs: list[ElasticRun]) -> None:
    for policy, colour in zip(ScalingPolicy, COLOURS, strict=False):
        own = [run for run in runs if run.policy == policy]
        axes.scatter(
            [run.machine_seconds for run in own], [run.mean_s for run in own], color=colour, label=policy.value
        )
    axes.set_yscale("log")
    axes.set_ylabel("mean delivery time, s")
    axes.set_title(shape, fontsize=9)
    _frame(axes, "machine-seconds")


def _frame(axes: "Axes", across: str) -> None:
    axes.set_xlabel(across)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
