"""Bodies tell who sent them, and whether they are what was sent."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.workload.payload import MARK, Stamp, draw, read, write

STAMP = Stamp("a1b2c3d4", 3, 1, 42)


@given(st.binary(max_size=300), st.integers(0, 10**6), st.integers(0, 100), st.integers(0, 10**9))
def test_what_was_written_is_read(payload: bytes, queue: int, sender: int, seq: int) -> None:
    stamp = Stamp("run", queue, sender, seq)
    assert read(write(stamp, payload)) == (stamp, payload)


@given(st.data())
def test_one_other_character_anywhere_is_noticed(data: st.DataObject) -> None:
    body = write(STAMP, b"some bytes")
    place = data.draw(st.integers(0, len(body) - 1))
    other = data.draw(st.characters(min_codepoint=32, max_codepoint=126).filter(lambda one: one != body[place]))
    assert read(body[:place] + other + body[place + 1 :]) is None


@given(st.text(max_size=60))
def test_what_others_sent_is_not_taken_for_ours(body: str) -> None:
    assert read(body) is None


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_body_cut_short_is_noticed(cut: int) -> None:
    assert read(write(STAMP, b"some bytes")[:-cut]) is None


def test_the_size_is_that_of_the_random_bytes() -> None:
    payload = draw(random.Random(1), 2048)
    assert len(payload) == 2048
    body = write(STAMP, payload)
    assert body.isascii()
    assert body.startswith(f"{MARK} a1b2c3d4 3 1 42 ")
    assert 2048 * 4 / 3 < len(body) < 2048 * 4 / 3 + 100


def test_the_same_seed_draws_the_same_bytes() -> None:
    assert draw(random.Random(7), 64) == draw(random.Random(7), 64) != draw(random.Random(8), 64)
