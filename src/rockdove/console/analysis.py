"""The page ``/analysis``: reports of `rockdove analyse`, and the live tables of `rockdove watch`."""

import asyncio
from typing import Any, Final

from starlette.responses import Response
from starlette.routing import Route

from rockdove.console import folder
from rockdove.console.folder import Kind, Report
from rockdove.console.report import ROWS, windows
from rockdove.console.visit import Visit, page, reading
from rockdove.console.wrong import Wrong

# Seconds that the figures of a live table are of, unless the page says otherwise.
_SPAN_S: Final = 300.0


async def show(visit: Visit) -> Response:
    root, name = visit.console.settings.reports, visit.request.query_params.get("report")
    if not visit.session.account.admin:
        return visit.render("analysis.html", may=False, root=None, reports=[])
    if root is None or name is None:
        reports = await asyncio.to_thread(folder.reports, root) if root is not None else []
        return visit.render("analysis.html", may=True, root=None if root is None else str(root), reports=reports)
    report = await asyncio.to_thread(folder.report, root, name)
    queue = visit.request.query_params.get("queue", "")
    return visit.render("report.html", report=report, title=_title(report), queue=queue, live=report.kind is Kind.WATCH)


def _title(report: Report) -> str:
    return report.path.resolve().name if report.name == "." else report.name


def _asked(visit: Visit) -> Report:
    root = visit.console.settings.reports
    if root is None:
        raise Wrong("The console was started without a folder of reports. Start it with --reports DIR.", status=404)
    return folder.report(root, visit.request.query_params.get("report", ""))


async def figures(visit: Visit) -> dict[str, Any]:
    """Of all queues together, and of those with ``search`` in their name."""
    asked = visit.request.query_params
    search = asked.get("search", "")

    def answer() -> dict[str, Any]:
        report = _asked(visit)
        if report.kind is Kind.WATCH:
            return visit.console.opened.now(report, _span(asked.get("span")), search)
        found = visit.console.opened.summary(report)
        rows = found.rows(search)
        return {
            "begin": found.begin,
            "end": found.end,
            "overall": flat(found.overall),
            "all": len(rows),
            "queues": [flat(row) for row in rows[:ROWS]],
            "problems": [{"path": each.get("file", ""), "what": each.get("problem", "")} for each in found.problems],
        }

    return await asyncio.to_thread(answer)


def _span(text: str | None) -> float:
    try:
        return min(max(float(text or _SPAN_S), 1.0), 86_400.0)
    except ValueError:
        return _SPAN_S


def flat(figures: dict[str, Any]) -> dict[str, Any]:
    """With percentiles by the names that tables have for them."""
    found: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            found |= {f"{name.removesuffix('_ms')}_{percentile}_ms": number for percentile, number in value.items()}
        else:
            found[name] = value
    return found


async def over_time(visit: Visit) -> dict[str, Any]:
    """Windows of a queue, or of all together."""
    queue = visit.request.query_params.get("queue") or None

    def answer() -> dict[str, Any]:
        report = _asked(visit)
        if report.kind is Kind.WATCH:
            return visit.console.opened.over_time(report, queue)
        return windows(report.path, queue)

    return {"windows": await asyncio.to_thread(answer)}


# Reports are of all accounts' queues, so they are for administrators, and for everybody where there are no accounts.
ROUTES = [
    Route("/analysis", page(show)),
    Route("/api/analysis/figures", reading(figures, admin=True), methods=["GET"]),
    Route("/api/analysis/windows", reading(over_time, admin=True), methods=["GET"]),
]
