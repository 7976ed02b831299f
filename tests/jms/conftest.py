"""A service, queues on it, and a program that speaks JMS."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.jms import Scenario
from tests.support.server import Server, ServerFactory
from tests.support.sqs_queue import SqsQueue

# Nothing comes back by itself while a test runs.
LONG = {"VisibilityTimeout": "600"}
FIFO = {"FifoQueue": "true"}

Start = Callable[..., Scenario]
NewQueue = Callable[..., SqsQueue]


@pytest.fixture(scope="session")
def shared(server: ServerFactory) -> Server:
    return server.shared()


@pytest.fixture(scope="session")
def boto(shared: Server) -> Iterator[Any]:
    client = shared.client()
    yield client
    client.close()


@pytest.fixture
def new_queue(boto: Any, new_name: Callable[..., str]) -> NewQueue:
    """`new_queue("one", "two")` has two messages, `new_queue(FifoQueue="true")` is a FIFO queue."""

    def make(*bodies: str, **attributes: str) -> SqsQueue:
        name = new_name(".fifo" if "FifoQueue" in attributes else "")
        queue = SqsQueue(boto, boto.create_queue(QueueName=name, Attributes=LONG | attributes)["QueueUrl"])
        for body in bodies:
            queue.send(body)
        return queue

    return make


@pytest.fixture
def start(shared: Server, tmp_path: Path) -> Iterator[Start]:
    """`start("listen", "jobs")` runs a scenario of the program on a queue."""
    started = []

    def run(name: str, queue: str, endpoint: str = shared.endpoint, **environment: str) -> Scenario:
        started.append(Scenario(tmp_path, name, endpoint, queue, environment))
        return started[-1]

    yield run
    for scenario in started:
        scenario.close()
