"""The flags that describe a workload, which several commands have."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from rockdove.core.limits import MAX_VISIBILITY_TIMEOUT_S, MAX_WAIT_S
from rockdove.workload import Faults, Workload

# Base64 makes four bytes of three, and the header needs some: beyond this a body is larger than SQS takes.
MAX_SIZE_BYTES = 780_000
# At 1 nothing would ever get through.
_MAX_PROBABILITY = 0.99


def _number(kind: type, flag: str, text: str, least: float, most: float | None = None, metavar: str = "N") -> Any:
    return Annotated[kind, typer.Option(flag, metavar=metavar, min=least, max=most, help=text)]


def _probability(flag: str, text: str) -> Any:
    return _number(float, flag, text, 0, _MAX_PROBABILITY, "P")


_LOAD: dict[str, Any] = {
    "queues": _number(int, "--queues", "Queues.", 1),
    "senders": _number(int, "--senders", "Senders of each queue.", 1),
    "receivers": _number(int, "--receivers", "Receivers of each queue.", 1),
    "messages": _number(int, "--messages", "Messages that each sender sends.", 1),
    "size_bytes": _number(
        int, "--size", "Random bytes in each message; its body is 4/3 as long, and 100 bytes.", 0, MAX_SIZE_BYTES
    ),
    "at_once": Annotated[
        bool,
        typer.Option("--at-once/--phased", help="Receivers begin with the senders, or when these have finished."),
    ],
    "send_delay_s": _number(float, "--send-delay", "Seconds that a sender waits after each message.", 0, metavar="S"),
    "receive_delay_s": _number(
        float, "--receive-delay", "Seconds that a receiver takes between receive and delete.", 0, metavar="S"
    ),
    "visibility_s": _number(
        int, "--visibility", "Visibility timeout of the queues, in seconds.", 1, MAX_VISIBILITY_TIMEOUT_S, "S"
    ),
    "wait_s": _number(int, "--wait", "Seconds that a receive waits for a message.", 0, MAX_WAIT_S, "S"),
    "order_hint": Annotated[
        str | None,
        typer.Option(
            "--order-hint",
            "-K",
            metavar="K",
            help="K, the RockdoveOrderHint of the queues: 1 to 1000, none or auto.",
            show_default="the service's",
        ),
    ],
    "seed": Annotated[int, typer.Option("--seed", metavar="N", help="Of payloads and faults.")],
    "processes": _number(int, "--processes", "Processes that senders and receivers are spread over.", 1),
    "patience_s": _number(
        float, "--patience", "Seconds for which a service that does not answer is asked again.", 0, metavar="S"
    ),
}
_FAULTS: dict[str, Any] = {
    "drop_requests": _probability("--drop-requests", "Probability that a request is not sent."),
    "drop_responses": _probability("--drop-responses", "Probability that an answer is ignored."),
    "crash": _probability("--crash", "Probability that a receiver forgets a message it has got, and starts anew."),
}


def with_workload(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all these flags instead of its parameter ``workload``."""

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        faults = Faults(**{name: values.pop(name) for name in _FAULTS})
        workload = Workload(**{name: values.pop(name) for name in _LOAD}, faults=faults)
        command(**values, workload=workload)

    signature = inspect.signature(command)
    own = [one for one in signature.parameters.values() if one.name != "workload"]
    more = [*_parameters(_LOAD, Workload()), *_parameters(_FAULTS, Faults())]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own] + more
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _parameters(options: dict[str, Any], defaults: Workload | Faults) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, name), annotation=annotation)
        for name, annotation in options.items()
    ]
