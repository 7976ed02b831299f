"""RockdoveOrderHint K: a receive of n takes n at random of the first n + K - 1 visible messages.

The clock stands still and nothing is hidden, so that every draw has the same messages before it.
"""

from collections import Counter

from tests.contract.sqs.conftest import QueueMaker
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

DRAWS = 120


def _filled(make: QueueMaker, number: int, **attributes: str) -> SqsQueue:
    queue = make(VisibilityTimeout="0", **attributes)
    queue.send_all(*map(str, range(number)))
    return queue


def _draw(web: Web, queue: SqsQueue, most: int = 1) -> list[list[int]]:
    content = {"QueueUrl": queue.url, "MaxNumberOfMessages": most}
    answers = [web.call("ReceiveMessage", content).json["Messages"] for _ in range(DRAWS)]
    return [[int(message["Body"]) for message in answer] for answer in answers]


def test_one_is_the_order_of_sending(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 20)
    assert _draw(web, queue, 3)[:20] == [[0, 1, 2]] * 20


def test_a_receive_of_one_takes_any_of_the_first_k(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 20, RockdoveOrderHint="4")
    seen = Counter(number for [number] in _draw(web, queue))
    assert seen.keys() == {0, 1, 2, 3}
    # Thirty of each are expected; that one is outside of these bounds has a probability of about 1 in 100,000.
    assert all(9 <= number <= 56 for number in seen.values()), seen


def test_a_receive_of_n_takes_any_n_of_the_first_n_and_k_less_one(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 20, RockdoveOrderHint="3")
    draws = _draw(web, queue, 5)
    assert all(len(draw) == len({*draw}) == 5 for draw in draws)
    assert {number for draw in draws for number in draw} == {0, 1, 2, 3, 4, 5, 6}
    assert len({tuple(sorted(draw)) for draw in draws}) > 5


def test_the_hint_may_be_larger_than_the_queue(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 3, RockdoveOrderHint="1000")
    assert {number for [number] in _draw(web, queue)} == {0, 1, 2}
    assert sorted(int(body) for body in queue.bodies(10)) == [0, 1, 2]


def test_none_promises_no_order_and_loses_nothing(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 12, RockdoveOrderHint="none")
    for draw in _draw(web, queue, 10):
        assert len(draw) == len({*draw}) == 10
        assert {*draw} <= {*range(12)}


def test_auto_is_the_best_order_here(web: Web, make_json: QueueMaker) -> None:
    """These stores decide one receive after the other, so nothing is gained by less order."""
    queue = _filled(make_json, 10, RockdoveOrderHint="auto")
    assert _draw(web, queue, 3)[:20] == [[0, 1, 2]] * 20


def test_the_hint_can_be_changed(web: Web, make_json: QueueMaker) -> None:
    queue = _filled(make_json, 10, RockdoveOrderHint="10")
    assert len({number for [number] in _draw(web, queue)}) > 3
    queue.set(RockdoveOrderHint="1")
    assert {number for [number] in _draw(web, queue)} == {0}


def test_nothing_is_lost_or_doubled_by_disorder(make_json: QueueMaker) -> None:
    for hint in ("7", "none"):
        queue = make_json(RockdoveOrderHint=hint)
        queue.send_all(*map(str, range(35)))
        got: list[str] = []
        while bodies := queue.bodies(4):
            got += bodies
        assert sorted(got) == sorted(map(str, range(35)))


def test_claims(service: RunningService, make_json: QueueMaker) -> None:
    queue = make_json(RockdoveClaim="strict", RockdoveDraw="visible")
    assert queue.attributes("RockdoveClaim", "RockdoveDraw") == {"RockdoveClaim": "strict", "RockdoveDraw": "visible"}
    has_fast = service.store == "cassandra"
    assert make_json().attributes("RockdoveClaim") == {"RockdoveClaim": "fast" if has_fast else "strict"}
    if has_fast:
        make_json(RockdoveClaim="fast", RockdoveDraw="literal")
        return
    reason = "This store gives each message to one receiver at a time: Must be strict."
    with refused("InvalidAttributeValue", f"Invalid value for the parameter RockdoveClaim. Reason: {reason}"):
        make_json(RockdoveClaim="fast")
    reason = "Must be visible where RockdoveClaim is strict."
    with refused("InvalidAttributeValue", f"Invalid value for the parameter RockdoveDraw. Reason: {reason}"):
        make_json(RockdoveDraw="literal")
