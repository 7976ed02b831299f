"""The choice among entries of the index."""

from collections import Counter
from random import Random

import pytest

from rockdove.store.cassandra.index.candidates import Candidates
from rockdove.store.cassandra.index.entry import AGREED, Spot, block_of, indexed_id, is_indexed, place_of, segment_of
from rockdove.store.cassandra.index.members import PlaceMembers

ALONE = PlaceMembers("ab", lambda: None)


def filled(number: int, members: PlaceMembers = ALONE, seed: int = 1) -> Candidates:
    candidates = Candidates(members, Random(seed))
    for id in range(number):
        candidates.add(Spot(1, 10 + id, id, 0))
    candidates.pass_time(10 + number)
    return candidates


def ids(spots: list[Spot]) -> list[int]:
    return [spot.id for spot in spots]


def test_in_order() -> None:
    candidates = filled(20)
    assert ids(candidates.draw(5, 1)) == [0, 1, 2, 3, 4]
    assert ids(candidates.draw(5, 1)) == [5, 6, 7, 8, 9]
    assert candidates.visible == 10


@pytest.mark.parametrize("hint", [2, 3, 10])
def test_at_random_of_the_first(hint: int) -> None:
    seen: Counter[int] = Counter()
    for seed in range(200):
        candidates = filled(40, seed=seed)
        drawn = ids(candidates.draw(2, hint))
        assert drawn == sorted(drawn)
        seen.update(drawn)
        # What was not drawn is still there, in order.
        assert ids(candidates.draw(40, 1)) == sorted(set(range(40)) - set(drawn))
    assert set(seen) == set(range(2 + hint - 1))


def test_no_order() -> None:
    drawn = ids(filled(1_500).draw(10, 0))
    assert max(drawn) > 100
    assert max(drawn) < 1_009


def test_what_is_hidden_comes_when_its_time_has_come() -> None:
    candidates = Candidates(ALONE, Random(1))
    late, early = Spot(1, 100, 1, 0), Spot(2, 50, 2, 3)
    for spot in (late, early, late):
        candidates.add(spot)
    candidates.pass_time(49)
    assert (candidates.visible, candidates.next_us(), candidates.head()) == (0, 50, None)
    candidates.pass_time(60)
    assert (candidates.visible, candidates.next_us(), candidates.head()) == (1, 100, early)
    assert candidates.draw(10, 1) == [early]
    # It is put back for later.
    candidates.add(early, not_before_us=200)
    candidates.pass_time(150)
    assert candidates.draw(10, 1) == [late]
    candidates.pass_time(200)
    assert candidates.draw(10, 1) == [early]
    assert len(candidates) == 0


def test_several_entries_of_one_message() -> None:
    candidates = Candidates(ALONE, Random(1))
    old, new = Spot(1, 10, 7, 0), Spot(2, 20, 7, 1)
    candidates.add(old)
    candidates.add(new)
    assert candidates.by_id[7] == {old, new}
    candidates.discard(old)
    candidates.pass_time(30)
    assert candidates.draw(5, 1) == [new]
    assert 7 not in candidates.by_id


def test_drawn_blindly_what_is_not_visible_is_no_use() -> None:
    for seed in range(50):
        candidates = Candidates(ALONE, Random(seed))
        for id in range(10):
            candidates.add(Spot(1, 10 + id, id, 0))
        candidates.pass_time(11)
        # Of the first five, two are visible.
        drawn = ids(candidates.draw_blindly(2, 4, 11))
        assert set(drawn) <= {0, 1}
        assert len(candidates) == 10 - len(drawn)


def test_each_of_several_front_ends_has_its_own_first() -> None:
    names = ["a1", "b2", "c3"]
    taken: list[int] = []
    for own in names:
        members = PlaceMembers(own, lambda: None)
        for other in names:
            if other != own:
                members.heard(other)
        assert members.number == 3
        # Without patience it takes others', too, if there are too few of its own.
        drawn = ids(filled(3_000, members).draw(10, 1))
        assert len(drawn) == 10
        # Near the head.
        assert max(drawn) < 30
        taken += drawn
    # Most of them are of one front-end only: there are about ten for each.
    assert len(set(taken)) >= 24


def test_what_others_have_first_is_left_to_them_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("rockdove.store.cassandra.index.candidates.monotonic", lambda: now_s)
    members = PlaceMembers("a1", lambda: None)
    members.heard("b2")
    candidates = filled(20, members)
    own = {id for id in range(20) if members.rank(id) == 0}
    assert 0 < len(own) < 20
    ready, wait_s = candidates.ready(10, 0.5)
    assert (ready, wait_s) == (len(own), 0.5)
    assert set(ids(candidates.draw(20, 1, 0.5))) == own
    assert candidates.draw(20, 1, 0.5) == []
    now_s = 100.6
    assert candidates.ready(10, 0.5) == (20 - len(own), None)
    assert len(candidates.draw(20, 1, 0.5)) == 20 - len(own)


def test_one_that_is_not_heard_of_any_more_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("rockdove.store.cassandra.index.members.monotonic", lambda: now_s)
    said: list[float] = []
    members = PlaceMembers("ab", lambda: said.append(now_s))
    members.receives()
    members.receives()
    assert said == [100.0]
    members.heard("cd")
    # Who is new may not have heard.
    members.receives()
    assert (said, members.number) == ([100.0, 100.0], 2)
    now_s = 107.0
    assert members.number == 1


def test_ids_say_where_the_body_is() -> None:
    id = indexed_id(77, 123_456, 499)
    assert (segment_of(id), place_of(id)) == (123_456, 499)
    assert block_of(id) < 0
    assert is_indexed(id)
    assert not is_indexed(id | AGREED)
    assert indexed_id(77, 123_457, 0) > id
