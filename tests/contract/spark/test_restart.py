"""A service that is killed and started again under a query, or under a task that writes, is only a delay."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from rockdove.client import Client
from rockdove.spark.service import place
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.sink.commit import Batch, Part
from rockdove.spark.sink.reject import Origin
from rockdove.spark.sink.row import SinkRow
from rockdove.spark.sink.stage import Staging
from rockdove.spark.source import option
from rockdove.spark.source.lease import LeaseStream
from rockdove.spark.source.schema import Table
from tests.contract.spark.conftest import bodies
from tests.contract.spark.test_sink import rows
from tests.support.micro_batch import Engine
from tests.support.server import Server, ServerFactory


@pytest.fixture
def mortal(server: ServerFactory) -> Server:
    return server()


@pytest.fixture
def spot(mortal: Server, new_name: Callable[..., str]) -> QueuePlace:
    name = new_name()
    with Client(mortal.endpoint) as client:
        client.create_queue(name)
    return place.find(Options({"queue": name, "endpoint": mortal.endpoint}))


class Fall:
    """Kills the service at some of the steps; it is started again while the others ask in vain."""

    def __init__(self, server: Server, steps: set[int]) -> None:
        self._server = server
        self._steps = steps
        self._step = 0
        self._starting = threading.Thread()
        self.falls = 0

    def step(self) -> None:
        self._step += 1
        if self._step in self._steps:
            self.wait()
            self._server.kill()
            self.falls += 1
            self._starting = threading.Thread(target=self._server.start)
            self._starting.start()

    def wait(self) -> None:
        if self._starting.ident is not None:
            self._starting.join()


def test_a_query_goes_on(mortal: Server, spot: QueuePlace, narrow: Table) -> None:
    with Client(spot.endpoint) as client:
        client.send_batch(spot.queue, bodies(100))
    fall = Fall(mortal, {3, 8})

    class Shaken(Engine):
        def step(self) -> None:
            fall.step()

    chosen = option.for_stream(Options({"maxMessagesPerTrigger": "30", "numPartitions": "2"}))
    engine = Shaken(lambda: LeaseStream(spot, narrow, chosen), LeaseStream(spot, narrow, chosen), random.Random(1))
    engine.run()
    fall.wait()
    assert fall.falls == 2
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(100))


def test_a_task_goes_on(mortal: Server, spot: QueuePlace) -> None:
    fall = Fall(mortal, {1_500})

    def shaken() -> Iterator[SinkRow]:
        for row in rows(bodies(2_500)):
            fall.step()
            yield row

    with spot.client() as client:
        staged = Staging(client, spot, Origin("app", 1, 0), "a", None).write(shaken())
        fall.wait()
        assert fall.falls == 1
        assert Batch(client, spot, "app", 1, "a", None).publish([Part(0, "a", staged)], "match")
        visible = client.attributes(spot.queue, ["ApproximateNumberOfMessages"])["ApproximateNumberOfMessages"]
    assert visible == "2500"
