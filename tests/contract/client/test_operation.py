"""No operation is forgotten."""

import inspect
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import pytest

from rockdove.client import AsyncClient, Client, account, figure, lease, message, publish, queue, task, topic
from rockdove.client.step import Names
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import Request

MODULES = (account, figure, lease, publish, message, queue, task, topic)
# More than one operation hides behind some methods.
MORE: dict[str, list[dict[str, Any]]] = {"receive": [{"limit": 1}, {"limit": 100}]}
VALUES: dict[str, Any] = {
    "attempts": (),
    "queue": "http://q/0/q",
    "topic": "arn:aws:sns:us-east-1:000000000000:t",
    "source": "arn:aws:sqs:us-east-1:000000000000:q",
    "name": "q",
    "messages": ["x"],
    "receipt_handles": ["r"],
    "seconds": {"r": 1},
    "changes": {},
    "tags": {},
    "keys": [],
    "accounts": [],
    "actions": [],
}

# So that the operation itself is the first request.
ASKED: dict[str, dict[str, str]] = {
    "topic_arn": {"topic": "news"},
    "subscribe": {"queue": "arn:aws:sqs:us-east-1:000000000000:q"},
}


def methods(module: ModuleType) -> dict[str, Callable[..., Generator[Request, Any, Any]]]:
    """The functions whose first parameter is the names: each is a method of the clients."""
    found = inspect.getmembers(module, inspect.isfunction)
    return {
        name: function
        for name, function in found
        if function.__module__ == module.__name__ and next(iter(inspect.signature(function).parameters), "") == "names"
    }


STEPS = {name: function for module in MODULES for name, function in methods(module).items()}


def first_request(name: str, options: dict[str, Any]) -> str:
    """The first request of a method; queues are given so that nothing has to be asked before."""
    needed = [p for p in inspect.signature(STEPS[name]).parameters.values() if p.default is p.empty][1:]
    values = VALUES | ASKED.get(name, {})
    steps = STEPS[name](Names(), *[values.get(parameter.name, "x") for parameter in needed], **options)
    return type(next(steps)).__name__


def test_every_operation_has_a_method() -> None:
    asked = {first_request(name, options) for name in STEPS for options in MORE.get(name, [{}])}
    assert asked == set(OPERATIONS)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_clients_have_every_method(kind: type) -> None:
    assert set(STEPS) <= set(dir(kind))
    for name, steps in STEPS.items():
        assert getattr(kind, name).__doc__ == steps.__doc__
