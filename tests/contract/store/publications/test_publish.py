"""For how long a store knows what was published."""

from typing import Any

import pytest

from rockdove.core.limits import APPLICATION_S, PUBLISHED_S, STAGED_S
from rockdove.core.publication import Parcel, PublicationName
from rockdove.store.base.publication import Published, Standing
from tests.support.store import Bench, Queue, call


def name_of(queue: Queue, batch: int, partition: int = 0, application: str = "app") -> PublicationName:
    return PublicationName(queue.record.uid, application, batch, partition)


def publish(queue: Queue, name: PublicationName, *bodies: str, attempt: str = "one") -> Published:
    parts = [(queue.physical(), [queue.draft(body) for body in bodies])]
    published: Published = queue.bench.do(queue.bench.publications.publish, name, attempt, parts)
    return published


def look(queue: Queue, name: PublicationName, attempt: str = "two") -> Standing:
    standing: Standing = queue.bench.do(queue.bench.publications.look, name, attempt)
    return standing


def stage(queue: Queue, name: PublicationName) -> Standing:
    parcels = [Parcel("staged", "md5", 0)]
    standing: Standing = queue.bench.do(queue.bench.publications.stage, name, "two", 0, parcels, 6)
    return standing


def pass_time(bench: Bench, seconds: float) -> None:
    """And let the store forget what it would, as it does now and then; the memory store does whenever it is used."""
    bench.advance(seconds)
    tidy: Any = getattr(bench.inner, "_forget_old", None)
    if tidy is not None:
        bench.run(call(lambda done: bench.inner.writer.call(tidy, done)))  # type: ignore[union-attr]


def test_while_an_application_publishes_its_batches_are_known(bench: Bench, queue: Queue) -> None:
    publish(queue, name_of(queue, 0), "a")
    for batch in (1, 2, 3):
        pass_time(bench, PUBLISHED_S - 1)
        publish(queue, name_of(queue, batch))
    assert look(queue, name_of(queue, 0)) == Standing("one", 1)
    assert publish(queue, name_of(queue, 0), "a", attempt="two").appended is None


def test_of_a_silent_one_only_that_they_are_over(bench: Bench, queue: Queue) -> None:
    publish(queue, name_of(queue, 5), "a")
    publish(queue, name_of(queue, 0, application="other"), "b")
    pass_time(bench, PUBLISHED_S)
    stage(queue, name_of(queue, 9, application="third"))
    for batch, partition in ((5, 0), (5, 1), (4, 0)):
        assert look(queue, name_of(queue, batch, partition)).too_old
        assert publish(queue, name_of(queue, batch, partition), "never").appended is None
    assert not look(queue, name_of(queue, 6)).too_old
    bench.reopen()
    assert look(queue, name_of(queue, 5)).too_old
    assert publish(queue, name_of(queue, 6), "c").appended
    assert look(queue, name_of(queue, 6)) == Standing("one", 1)
    assert queue.read() == ["a", "b", "c"]


def test_in_the_end_it_is_forgotten(bench: Bench, queue: Queue) -> None:
    publish(queue, name_of(queue, 5), "a")
    pass_time(bench, APPLICATION_S)
    stage(queue, name_of(queue, 9, application="other"))
    assert look(queue, name_of(queue, 5)) == Standing()
    assert publish(queue, name_of(queue, 5), "again").appended


@pytest.mark.parametrize("seconds", [STAGED_S - 1, STAGED_S])
def test_what_is_staged_waits_for_a_day(bench: Bench, queue: Queue, seconds: int) -> None:
    name = name_of(queue, 0)
    assert stage(queue, name) == Standing(None, 1, False, 6)
    pass_time(bench, seconds)
    stage(queue, name_of(queue, 1))
    assert look(queue, name).messages == (seconds < STAGED_S)


def test_a_deleted_queue_takes_its_applications_along(queue: Queue) -> None:
    publish(queue, name_of(queue, 200), "a")
    queue.drop()
    assert look(queue, name_of(queue, 1)) == Standing()
