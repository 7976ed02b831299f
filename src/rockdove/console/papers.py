"""The page ``/papers``: the figures of the papers that Rockdove repeats, as its commands have made them."""

import asyncio
from pathlib import Path
from typing import Final

from msgspec import Struct
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from rockdove.console.folder import inside
from rockdove.console.visit import Visit, page
from rockdove.console.wrong import Wrong

# In a checkout; it does not go into wheels.
SHIPPED: Final = Path(__file__).parents[3] / "docs" / "figures"
# Folders below that of --reports that are looked through.
_DEPTH: Final = 3


class Paper(Struct, frozen=True):
    """A paper, what is repeated of it, and by which command. ``figures``: the name of a file, and what it shows."""

    title: str
    authors: str
    words: str
    command: str
    figures: tuple[tuple[str, str], ...]


PAPERS: Final = (
    Paper(
        "The performance of cloud message queues",
        "The model that its authors call VMA",
        "Senders, a link, a broker and losses, with 4 to 10 threads each; delivery in order and out of order.",
        "rockdove simulate fig11 fig12 fig13 fig14 fig15 --out DIR",
        (
            ("fig11", "Figure 11: delivery time over threads"),
            ("fig12", "Figure 12: messages waiting over threads"),
            ("fig13", "Figure 13: utilisation over threads"),
            ("fig14", "Figure 14: over the service time"),
            ("fig15", "Figure 15: over the arrival rate"),
        ),
    ),
    Paper(
        "Elastic Message Queues",
        "El Rheddane, de Palma, Tchana and Hagimont",
        "Production, load and workers while production rises and falls; and the rules of scaling compared.",
        "rockdove simulate elastic4 elastic5 elastic6 elastic7 elastic8 elastic-policies --out DIR",
        (
            ("elastic4", "Figure 4: one worker a machine, none kept ready"),
            ("elastic5", "Figure 5: two workers a machine"),
            ("elastic6", "Figure 6: one machine kept ready"),
            ("elastic7", "Figure 7: production eight times as steep"),
            ("elastic8", "Figure 8: as many machines ready as were promised"),
            ("elastic-policies", "The rules compared: delivery time over machine-seconds"),
        ),
    ),
    Paper(
        "High Throughput Dequeueing Technique in Distributed Message Queues for IoT",
        "The dequeue policies PMS and RDS",
        "Which physical queue to ask, and when: beside conventional dequeues, and beside waking up who waits.",
        "rockdove simulate rds9 rds10 rds11 rds12 --out DIR",
        (
            ("rds9", "Figure 9: throughput over the rate of requests"),
            ("rds10", "Figure 10: the share of visits that find messages"),
            ("rds11", "Figure 11: messages of a visit that finds some"),
            ("rds12", "Figure 12: throughput over the sleep"),
            ("rds14", "Figure 14: measured, by rockdove bench rds"),
        ),
    ),
    Paper(
        "BDQS, the BlueDove queueing service",
        "Chen, Ye, Kim and Lei",
        "Measured on services that the command starts, some of them on Cassandra: these take long.",
        "rockdove bench fig4 --out DIR    # and so on, to fig8",
        (
            ("bdqs-fig4", "Figure 4: rates over queues and front-ends"),
            ("bdqs-fig5", "Figure 5: response time over rates"),
            ("bdqs-fig6", "Figure 6: duplicates and order over receivers"),
            ("bdqs-fig7", "Figure 7: while requests and answers are lost"),
            ("bdqs-fig8", "Figure 8: while nodes die"),
        ),
    ),
)
_NAMES: Final = frozenset(name for paper in PAPERS for name, _ in paper.figures)


async def show(visit: Visit) -> Response:
    found = await asyncio.to_thread(figures, visit.console.settings.reports)
    reports = visit.console.settings.reports
    return visit.render("papers.html", papers=PAPERS, found=found, reports=None if reports is None else str(reports))


async def figure(visit: Visit) -> Response:
    name = visit.request.path_params["name"]
    found = await asyncio.to_thread(figures, visit.console.settings.reports) if name in _NAMES else {}
    if name not in found:
        raise Wrong("There is no such figure. The page Papers says which command makes it.", status=404)
    return FileResponse(found[name], media_type="image/svg+xml")


def figures(reports: Path | None) -> dict[str, Path]:
    """Files by the names of figures: those below the folder of reports first, then those that a checkout has."""
    found: dict[str, Path] = {}
    for name in _NAMES:
        path = SHIPPED / f"{name}.svg"
        if path.is_file():
            found[name] = path
    for path in _pictures(reports) if reports is not None else []:
        found[path.stem] = path
    return found


def _pictures(reports: Path) -> list[Path]:
    """The youngest of each name comes last."""
    found = []
    for depth in range(_DEPTH + 1):
        for path in reports.glob("*/" * depth + "*.svg"):
            if path.stem in _NAMES and path.is_file() and inside(reports, path):
                found.append(path)
    return sorted(found, key=lambda path: path.stat().st_mtime)


ROUTES = [Route("/papers", page(show)), Route("/papers/{name}.svg", page(figure))]
