"""The page ``/elastic``: queues that grow and shrink, what their controllers do and why; to pause them."""

import shlex
import time
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response
from starlette.routing import Route

from rockdove.console.event import number
from rockdove.console.scaling import MOST, Scaled
from rockdove.console.visit import Visit, action, page, reading
from rockdove.console.wrong import Wrong

# A controller is late when it has published nothing for so many of its periods, and is given up after its hold.
_LATE_PERIODS = 3.0


class Control(Struct):
    """Whether the controller of a queue is to pause."""

    name: str
    paused: bool


async def show(visit: Visit) -> Response:
    visit.console.recorders.of(visit.session)
    return visit.render("elastic.html", asked=visit.request.query_params.get("queue", ""))


async def queues(visit: Visit) -> dict[str, Any]:
    """All of them, as they are now."""
    recorder = visit.console.recorders.of(visit.session)
    if recorder.trouble is not None:
        raise recorder.trouble
    now = time.time()
    rows = [_row(each, now) for each in sorted(recorder.queues.values(), key=lambda each: each.name)]
    return {"ready": recorder.is_ready, "most": MOST, "queues": rows}


async def queue(visit: Visit) -> dict[str, Any]:
    """One of them: what is younger than ``since``, the workers and the decisions."""
    recorder = visit.console.recorders.of(visit.session)
    if recorder.trouble is not None:
        raise recorder.trouble
    name = visit.request.query_params.get("name", "")
    found = recorder.queues.get(name)
    if found is None:
        raise Wrong(f"{name} is not elastic, or not any more.", status=404)
    now = time.time()
    published = found.published
    return {
        **_row(found, now),
        "others": {
            "slots": found.elastic.slots,
            "pool": found.elastic.pool_size,
            "safety_s": found.elastic.safety_s,
        },
        "min_load": found.elastic.min_load,
        "points": found.samples.since(_number(visit.request.query_params.get("since"))),
        "parts": published.workers if published is not None and found.is_held(now) else found.loads,
        "decisions": published.decisions[::-1] if published is not None else [],
        "work": None if published is None else {"service_s": published.service_s, "failure": published.failure},
        "command": command(found.name, visit.console.service.endpoint),
    }


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _row(queue: Scaled, now: float) -> dict[str, Any]:
    last, published = queue.samples.last, queue.published
    held = queue.is_held(now)
    late = held and published is not None and now - published.at > _LATE_PERIODS * queue.elastic.period_s + 5
    state = "none" if not held else "paused" if queue.paused else "late" if late else "on"
    return {
        "name": queue.name,
        "policy": queue.elastic.policy.value,
        "least": queue.elastic.min_workers,
        "most": queue.elastic.max_workers,
        "controller": state,
        "paused": queue.paused,
        "holder": queue.holder,
        "held_until": queue.held_until,
        "updated": queue.updated,
        "period_s": queue.elastic.period_s,
        "target": published.target if published is not None and held else None,
        "machines": published.machines if published is not None and held else None,
        "production": None if last is None else number(last.production),
        "load": None if last is None else number(last.max_load),
        "workers": None if last is None else number(last.workers),
        "starting": None if last is None else number(last.starting),
        "max_load": queue.elastic.max_load,
        "last_decision": msgspec.to_builtins(published.decisions[-1]) if published and published.decisions else None,
    }


def command(name: str, endpoint: str) -> str:
    """What starts a controller."""
    return (
        f"rockdove autoscale {shlex.quote(name)} --endpoint {shlex.quote(endpoint)} --handler PACKAGE.MODULE:FUNCTION"
    )


async def control(visit: Visit, wanted: Control) -> None:
    await visit.client.set_elastic_control(wanted.name, wanted.paused)
    found = visit.console.recorders.of(visit.session).queues.get(wanted.name)
    if found is not None:
        found.paused = wanted.paused


ROUTES = [
    Route("/elastic", page(show)),
    Route("/api/elastic", reading(queues), methods=["GET"]),
    Route("/api/elastic/queue", reading(queue), methods=["GET"]),
    Route("/api/elastic/control", action(Control, control), methods=["POST"]),
]
