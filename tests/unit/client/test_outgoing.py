"""Messages on their way out, cut into requests."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rockdove.client import Outgoing, cut
from rockdove.client.outgoing import AttributeValue, wire_attributes
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute


def sized(number: int) -> Outgoing:
    return Outgoing(body="x" * number)


@settings(deadline=None)
@given(st.lists(st.sampled_from([1, 1000, 300_000, 700_000, MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES + 1]), max_size=60))
def test_every_group_fits_into_one_request_and_none_is_needless(sizes: list[int]) -> None:
    groups = list(cut(map(sized, sizes)))
    assert [message.size_bytes for group in groups for message in group] == sizes
    for group in groups:
        total = sum(message.size_bytes for message in group)
        assert 1 <= len(group) <= 10
        assert total <= MAX_MESSAGE_BYTES or len(group) == 1
    for group, after in pairwise(groups):
        fits = sum(message.size_bytes for message in group) + after[0].size_bytes <= MAX_MESSAGE_BYTES
        assert len(group) == 10 or not fits


def test_groups_are_made_as_they_are_asked_for() -> None:
    def endless() -> object:
        while True:
            yield sized(1)

    assert len(next(cut(endless()))) == 10  # type: ignore[arg-type]


def test_the_size_counts_bytes_and_attributes() -> None:
    message = Outgoing(body="ü", attributes={"name": "välue", "n": 12, "raw": b"\0\1\2"})
    expected = len("ü".encode()) + len("name" + "String") + len("välue".encode())
    expected += len("n" + "Number" + "12") + len("raw" + "Binary") + 3
    assert message.size_bytes == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", Attribute("String", "text")),
        (7, Attribute("Number", "7")),
        (1.5, Attribute("Number", "1.5")),
        (Decimal("0.10"), Attribute("Number", "0.10")),
        (b"\0", Attribute("Binary", binary_value=b"\0")),
        (Attribute("String.special", "x"), Attribute("String.special", "x")),
    ],
)
def test_values_become_attributes_of_their_type(value: AttributeValue, expected: Attribute) -> None:
    assert wire_attributes({"name": value}) == {"name": expected}
