"""How a batch is cut into leases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.limits import MAX_CONSUMER_LENGTH
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.service.trouble import Refused
from rockdove.spark.source import option
from rockdove.spark.source.lease import LEASE, Offset, mint, parse, plan

BEGIN = Offset(consumer="c", sequence=7)


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.integers(1, 1_000))
def test_a_batch_takes_what_is_there_and_no_more_than_it_may(visible: int, most: int, partitions: int) -> None:
    end = plan(BEGIN, visible, most, partitions)
    steps = end.sequence - BEGIN.sequence
    room = end.shards * steps * end.size
    assert 1 <= end.size <= LEASE
    assert 1 <= end.shards <= partitions
    assert room <= most
    # Rounding is the only difference: less than a message for each lease.
    assert abs(room - min(visible, most)) < end.shards * (steps + 1)


@pytest.mark.parametrize(
    ("visible", "most", "partitions", "expected"),
    [
        (5, 100, 1, (1, 1, 5)),
        (5, 100, 8, (1, 5, 1)),
        (1000, 10, 4, (1, 4, 2)),
        (5_000, 10**6, 1, (3, 1, 1667)),
        (10**6, 5_000, 1, (3, 1, 1666)),
    ],
)
def test_it_is_cut_so(visible: int, most: int, partitions: int, expected: tuple[int, int, int]) -> None:
    end = plan(BEGIN, visible, most, partitions)
    assert (end.sequence - 7, end.shards, end.size) == expected


def test_an_offset_survives_its_json() -> None:
    offset = Offset(consumer="c", sequence=3, shards=2, size=10, queue="q")
    assert parse(offset.json()) == offset


def test_no_two_checkpoints_have_the_same_consumer() -> None:
    assert mint("daily") != mint("daily")
    assert mint("daily").startswith("daily-")
    assert len(mint("x" * MAX_CONSUMER_LENGTH)) == MAX_CONSUMER_LENGTH


def test_the_offset_of_a_journal_is_refused() -> None:
    with pytest.raises(Refused, match="read through a journal"):
        parse({"journal": "j", "sequence": 3})


@pytest.mark.parametrize(
    ("read", "given", "named"),
    [
        (option.for_stream, {"mode": "drain"}, "option mode is for batches"),
        (option.for_stream, {"leaseId": "x"}, "option leaseId is for batches"),
        (option.for_stream, {"waitTimeSeconds": "21"}, "option waitTimeSeconds"),
        (option.for_stream, {"maxMessagesPerTrigger": "0"}, "option maxMessagesPerTrigger"),
        (option.for_stream, {"journal": "s3://bucket/j"}, "option journal must be a folder"),
        (option.for_stream, {"consumer": "ü"}, "option consumer must be"),
        (option.for_batch, {"consumer": "x"}, "option consumer is for streams"),
        (option.for_batch, {"mode": "drain"}, "option leaseId is missing"),
        (option.for_batch, {"leaseId": "x"}, "option leaseId is for mode=drain"),
        (option.for_batch, {"mode": "drain", "leaseId": "x" * 257}, "option leaseId must be"),
        (option.for_batch, {"mode": "drain", "leaseId": "x", "maxMessages": "none"}, "option maxMessages"),
        (option.for_batch, {"sentFrom": "yesterday"}, "option sentFrom must be a time with its zone, such as 2026"),
        (option.for_batch, {"sentUntil": "2026-11-18T20:00:00"}, "option sentUntil must be a time with its zone"),
        (
            option.for_batch,
            {"mode": "drain", "leaseId": "x", "sentFrom": "2026-11-18"},
            "option sentFrom is for mode=peek",
        ),
        (option.for_stream, {"messageGroupId": "a"}, "option messageGroupId is for batches"),
        (option.for_batch, {"maxMessages": "0"}, "option maxMessages must be a whole number from 1 to 2,147,483,647"),
    ],
)
def test_options_that_do_not_fit_are_named(read: Any, given: dict[str, str], named: str) -> None:
    with pytest.raises(BadOption, match=named):
        read(Options(given))


def test_a_journal_may_be_a_file_url() -> None:
    assert str(option.for_stream(Options({"journal": "file:///a/b"})).journal) == "/a/b"
