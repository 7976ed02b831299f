"""Figures of queues and of the service, as steps."""

from collections.abc import Iterable

from rockdove.client.step import Names, Steps, ask
from rockdove.wire import figure as shape


def figures(
    names: Names, since: str | None = None, *, wait_s: int = 0, queues: Iterable[str] | None = None
) -> Steps[shape.GetFiguresResult]:
    """How full the account's queues are, and what happened in them.

    ``since`` is the version of an earlier answer: then only of the queues that have changed, after at most ``wait_s``.
    """
    request = shape.GetFigures(
        since=since, wait_seconds=wait_s or None, queue_names=None if queues is None else list(queues)
    )
    return (yield from ask(request, shape.GetFiguresResult))


def service_figures(names: Names) -> Steps[shape.GetServiceFiguresResult]:
    """How the service is; with accounts, for administrators."""
    return (yield from ask(shape.GetServiceFigures(), shape.GetServiceFiguresResult))
