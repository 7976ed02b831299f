"""The physical queues of a queue: how full each is, which share of new messages it gets, and whether it takes part."""

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.typed import number
from rockdove.console.visit import Visit, action, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import InvalidAttributeValue, InvalidParameterValue, UnsupportedOperation
from rockdove.core.limits import MAX_WEIGHT

_UP = "up"


class Part(Struct):
    """``share``: of new messages, from 0 to 1."""

    index: int
    state: str
    weight: float
    reachable: bool
    share: float
    visible: int | None
    in_flight: int | None
    delayed: int | None


class Change(Struct):
    index: int
    weight: str = ""
    state: str = ""


def shares(parts: list[tuple[str, bool, float]], fifo: bool) -> list[float]:
    """Of new messages, by state, whether it can be reached, and weight; those of FIFO queues go by their groups."""
    if fifo:
        taking = [state != "leaving" for state, _, _ in parts]
        return [1 / sum(taking) if takes else 0.0 for takes in taking]
    weights = [weight if state == _UP and reachable else 0.0 for state, reachable, weight in parts]
    if not any(weights):
        # Then those that are up share alike.
        weights = [float(state == _UP and reachable) for state, reachable, _ in parts]
    total = sum(weights)
    return [weight / total if total else 0.0 for weight in weights]


async def physical(visit: Visit) -> dict[str, list[Part]]:
    queue = queue_of(visit)
    found = await visit.client.physical_queues(queue)
    gets = shares([(each.state, each.reachable, each.weight) for each in found], queue.endswith(".fifo"))
    return {
        "parts": [
            Part(
                index=each.index,
                state=each.state,
                weight=each.weight,
                reachable=each.reachable,
                share=share,
                visible=each.approximate_number_of_messages,
                in_flight=each.approximate_number_of_messages_not_visible,
                delayed=each.approximate_number_of_messages_delayed,
            )
            for each, share in zip(found, gets, strict=True)
        ]
    }


async def change(visit: Visit, change: Change) -> None:
    weight = number(change.weight, "weight", 0, MAX_WEIGHT)
    if weight is None and not change.state:
        raise Wrong("Nothing has changed.")
    try:
        await visit.client.set_physical_queue(queue_of(visit), change.index, weight=weight, state=change.state or None)
    except (InvalidParameterValue, InvalidAttributeValue, UnsupportedOperation) as fault:
        raise Wrong(fault.message, "state" if change.state else "weight") from None


ROUTES = [
    Route(f"{API}/physical", reading(physical), methods=["GET"]),
    Route(f"{API}/physical", action(Change, change), methods=["POST"]),
]
