"""Dead letters: which queues send theirs here, and moving them back, with progress."""

from msgspec import Struct
from starlette.routing import Route

from rockdove.client import MoveTask
from rockdove.console.place import API, name_of, queue_of
from rockdove.console.typed import whole
from rockdove.console.visit import Visit, action, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import InvalidParameterValue, QueueDoesNotExist, ResourceNotFound, UnsupportedOperation
from rockdove.core.limits import MAX_LISTED_MOVE_TASKS, MAX_MOVE_RATE

# Queues whose names a page offers.
_OFFERED = 1_000


class Task(Struct):
    """``handle``: of one that runs, to cancel it. ``to_move``: how many there were when it began."""

    handle: str | None
    status: str
    destination: str | None
    rate: int | None
    moved: int
    to_move: int | None
    why: str | None
    started: float


class Redrives(Struct):
    sources: list[str]
    tasks: list[Task]


class Order(Struct):
    """As it is typed; without a destination, each message goes back to where it came from."""

    destination: str = ""
    rate: str = ""


class Cancellation(Struct):
    handle: str


def task(found: MoveTask) -> Task:
    return Task(
        handle=found.task_handle,
        status=found.status,
        destination=name_of(found.destination_arn) if found.destination_arn else None,
        rate=found.max_number_of_messages_per_second,
        moved=found.approximate_number_of_messages_moved,
        to_move=found.approximate_number_of_messages_to_move,
        why=found.failure_reason,
        started=found.started_timestamp / 1_000,
    )


async def redrives(visit: Visit) -> Redrives:
    queue = queue_of(visit)
    sources = await visit.client.dead_letter_sources(queue)
    tasks = await visit.client.move_tasks(queue, limit=MAX_LISTED_MOVE_TASKS)
    return Redrives(sorted(map(name_of, sources)), [task(each) for each in tasks])


async def start(visit: Visit, order: Order) -> dict[str, str]:
    queue, destination = queue_of(visit), order.destination.strip()
    rate = whole(order.rate, "rate", 1, MAX_MOVE_RATE)
    try:
        return {"handle": await visit.client.start_move(queue, destination or None, rate=rate)}
    except (QueueDoesNotExist, ResourceNotFound):
        if not destination:
            raise
        raise Wrong(f"There is no queue {destination}. Choose another, or create it.", "destination") from None
    except (InvalidParameterValue, UnsupportedOperation) as fault:
        raise Wrong(fault.message, "destination" if destination else None) from None


async def cancel(visit: Visit, cancellation: Cancellation) -> dict[str, int]:
    queue_of(visit)
    return {"moved": await visit.client.cancel_move(cancellation.handle)}


async def names(visit: Visit) -> dict[str, list[str]]:
    """Of queues, for inputs that take one."""
    return {"names": [name_of(url) for url in await visit.client.list_queues(limit=_OFFERED)]}


ROUTES = [
    Route(f"{API}/redrive", reading(redrives), methods=["GET"]),
    Route(f"{API}/redrive", action(Order, start), methods=["POST"]),
    Route(f"{API}/redrive/cancel", action(Cancellation, cancel), methods=["POST"]),
    Route("/api/queue-names", reading(names), methods=["GET"]),
]
