"""The page ``/plan``: how long messages take, how many workers it takes, and an elastic queue that gets them."""

import asyncio
import math
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rockdove.capacity import extra
from rockdove.console.question import DETAILS, SLIDERS, Goal, Question
from rockdove.console.visit import Visit, action, order_of, page, reading, session_of
from rockdove.console.wrong import Wrong, told
from rockdove.core.elastic import ElasticError, ScalingPolicy
from rockdove.core.elastic import read as read_elastic
from rockdove.core.errors import QueueDoesNotExist, RockdoveError

_ATTRIBUTES = ["RockdoveElastic", "VisibilityTimeout", "FifoQueue"]


class Upload(Struct):
    """A file that the browser has read."""

    name: str
    content: str


class Chosen(Struct):
    """What a queue is to have of a plan. ``timeout_s``: None to leave the queue's as it is."""

    queue: str
    policy: str
    min_workers: int
    max_workers: int
    max_load: float
    timeout_s: float | None = None


async def show(visit: Visit) -> Response:
    missing = None
    try:
        extra.require()
    except RockdoveError as error:
        missing = str(error)
    else:
        # It takes a second or two; the first move of a slider then need not wait for it.
        asyncio.get_running_loop().run_in_executor(None, _load_models)
    return visit.render("plan.html", sliders=SLIDERS, details=DETAILS, policies=list(ScalingPolicy), missing=missing)


@cache
def _load_models() -> None:
    """With all that they load when they are used."""
    _predict(Question(arrival=30, service_ms=200, reliability=99, timeout_s=30, threads=8, whole=True))


# Models run in threads, and are imported there.


def _predict(question: Question) -> dict[str, Any]:
    from rockdove.console.prediction import predict

    return predict(question)


def _fewest(goal: Goal) -> dict[str, Any]:
    from rockdove.console.prediction import fewest

    return fewest(goal)


def _calibrated(upload: Upload) -> dict[str, Any]:
    from rockdove.console.prediction import calibrated

    return calibrated(upload.content, upload.name)


async def predict(visit: Visit, question: Question) -> dict[str, Any]:
    extra.require()
    return await asyncio.to_thread(_predict, question)


async def find(visit: Visit, goal: Goal) -> dict[str, Any]:
    extra.require()
    return await asyncio.to_thread(_fewest, goal)


async def calibrate(visit: Visit, upload: Upload) -> dict[str, Any]:
    extra.require()
    return await asyncio.to_thread(_calibrated, upload)


async def simulate(request: Request) -> Response:
    """A stream of events. A POST, because it is work: a page of another origin must not be able to ask for it."""
    try:
        session = await session_of(request)
        extra.require()
        question = await order_of(request, msgspec.json.Decoder(Question).decode)
        answer = await asyncio.to_thread(_predict, question)
        if not answer["stable"]:
            raise Wrong("There is nothing to simulate: the queue grows without end. Take more workers first.")
        trials = request.app.state.console.trials
        trials.reserve()
    except RockdoveError as error:
        return told(error, request)
    sessions = request.app.state.console.sessions
    events = trials.stream(question, lambda: session.is_over or sessions.stopping)
    return StreamingResponse(events, media_type="text/event-stream")


async def names(visit: Visit) -> dict[str, list[str]]:
    """Queues that can be elastic: FIFO queues cannot."""
    found = [url.rpartition("/")[2] for url in await visit.client.list_queues()]
    return {"queues": [name for name in found if not name.endswith(".fifo")]}


async def queue(visit: Visit) -> dict[str, Any]:
    """What the queue has now."""
    found = await _attributes(visit, visit.request.query_params.get("name", ""))
    text = found.get("RockdoveElastic")
    return {"elastic": text and msgspec.to_builtins(read_elastic(text)), "timeout_s": int(found["VisibilityTimeout"])}


async def apply(visit: Visit, chosen: Chosen) -> dict[str, str]:
    name = chosen.queue.strip()
    found = await _attributes(visit, name)
    text = merged(found.get("RockdoveElastic"), chosen)
    attributes = {"RockdoveElastic": text}
    if chosen.timeout_s is not None:
        attributes["VisibilityTimeout"] = str(math.ceil(chosen.timeout_s))
    await visit.client.set_attributes(name, attributes)
    return {"queue": name, "elastic": text}


async def _attributes(visit: Visit, name: str) -> dict[str, str]:
    if not name:
        raise Wrong("Say which queue.", "queue")
    try:
        found = await visit.client.attributes(name, _ATTRIBUTES)
    except QueueDoesNotExist:
        raise Wrong(f"There is no queue {name}. Choose one of the list.", "queue") from None
    if found.get("FifoQueue") == "true":
        raise Wrong(f"{name} is a FIFO queue, and those cannot be elastic. Choose a standard queue.", "queue")
    return found


# Inputs by the name that the document has for them.
_INPUTS = {"minWorkers": "min_workers", "maxWorkers": "max_workers", "minLoad": "max_load", "maxLoad": "max_load"}


def merged(before: str | None, chosen: Chosen) -> str:
    """`RockdoveElastic` with what was chosen; what it says beyond that stays. Raises `Wrong`."""
    document: dict[str, Any] = msgspec.json.decode(before) if before else {}
    document |= {
        "policy": chosen.policy,
        "minWorkers": chosen.min_workers,
        "maxWorkers": chosen.max_workers,
        "maxLoad": int(chosen.max_load) if chosen.max_load == int(chosen.max_load) else chosen.max_load,
    }
    # It follows from maxLoad, if it is not given.
    document.pop("minLoad", None)
    text = msgspec.json.encode(document).decode()
    try:
        read_elastic(text)
    except ElasticError as error:
        field = next((_INPUTS[name] for name in _INPUTS if str(error).startswith(name)), None)
        raise Wrong(f"{error}.", field) from None
    return text


ROUTES = [
    Route("/plan", page(show)),
    Route("/plan/simulation", simulate, methods=["POST"]),
    Route("/api/plan", action(Question, predict), methods=["POST"]),
    Route("/api/plan/fewest", action(Goal, find), methods=["POST"]),
    Route("/api/plan/calibration", action(Upload, calibrate), methods=["POST"]),
    Route("/api/plan/queues", reading(names), methods=["GET"]),
    Route("/api/plan/queue", reading(queue), methods=["GET"]),
    Route("/api/plan/apply", action(Chosen, apply), methods=["POST"]),
]
