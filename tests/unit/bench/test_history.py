"""The checker of histories, checked: what is wrong is found, and what nobody can know is not called wrong."""

from typing import Any

import pytest

from bench.history.call import Call, Fault, Got, History, Outcome
from bench.history.check import NEAR_S, RULES, check, story, summary

DONE, UNKNOWN, REFUSED = Outcome.DONE, Outcome.UNKNOWN, Outcome.REFUSED
FIFO = "q.fifo"


def call(op: str, at: float, *bodies: str, queue: str = "q", outcome: Outcome = DONE, **fields: Any) -> Call:
    """From ``at`` to a tenth of a second later."""
    return Call(op, queue, at, at + 0.1, outcome, bodies=list(bodies), **fields)


def received(at: float, *bodies: str, op: str = "receive", timeout_s: float = 10, **fields: Any) -> Call:
    ids = fields.pop("ids", None) or [f"id-{body}" for body in bodies]
    got = [Got(body, id) for body, id in zip(bodies, ids, strict=True)]
    return call(op, at, got=got, timeout_s=timeout_s, **fields)


def drained(*bodies: str, **fields: Any) -> Call:
    return received(1_000, *bodies, op="drain", **fields)


def of_fifo(at: float, *bodies: str, **fields: Any) -> Call:
    return received(at, *bodies, queue=FIFO, **fields)


def rules(*calls: Call, **fields: Any) -> set[str]:
    usual = {"faults": [Fault("full", 10, 60.05)], "renaming": {"failing", "dead"}}
    history = History(list(calls), fifo={FIFO}, max_receives={"failing": 2}, **(usual | fields))
    return {violation.rule for violation in check(history)}


def group(at: float, body: str, outcome: Outcome = DONE) -> Call:
    return call("send", at, body, queue=FIFO, group="g", outcome=outcome)


VIOLATIONS = {
    "sent and not there": ("lost", [call("send", 0, "a")]),
    "received, not deleted, not there": ("lost", [call("send", 0, "a"), received(1, "a")]),
    "published and not there": ("lost", [call("publish", 0, "a", "b"), drained("a")]),
    "lost before the purge ended": ("lost", [call("send", 5, "a"), call("purge", 0)]),
    "leased, not acknowledged, not there": ("lost", [call("send", 0, "a"), received(1, "a", op="lease", sequence=3)]),
    "never sent": ("refused", [drained("a")]),
    "its delete was refused": (
        "lost",
        [call("send", 0, "a"), received(1, "a"), call("delete", 2, "a", outcome=REFUSED)],
    ),
    "to show it was refused": (
        "early",
        [call("send", 0, "a"), received(1, "a"), call("hide", 2, "a", outcome=REFUSED), received(3, "a"), drained("a")],
    ),
    "refused and there": ("refused", [call("send", 0, "a", outcome=REFUSED), drained("a")]),
    "deleted and received": (
        "back",
        [call("send", 0, "a"), received(1, "a"), call("delete", 2, "a"), received(30, "a")],
    ),
    "deleted and drained": ("back", [call("send", 0, "a"), received(1, "a"), call("delete", 2, "a"), drained("a")]),
    "purged and received": ("back", [call("send", 0, "a"), call("purge", 1), received(2, "a")]),
    "purged and drained": ("back", [call("send", 0, "a"), call("purge", 1), drained("a")]),
    "acknowledged and drained": (
        "back",
        [call("send", 0, "a"), received(1, "a", op="lease"), call("ack", 2), drained("a")],
    ),
    "acknowledged and leased again": (
        "back",
        [call("send", 0, "a"), received(1, "a", op="lease"), call("ack", 2), received(3, "a", op="lease")],
    ),
    "two ids": ("twice", [call("send", 0, "a"), received(1, "a"), drained("a", ids=["other"])]),
    "drained twice": ("twice", [call("send", 0, "a"), drained("a", "a")]),
    "sent twice under one deduplication id": (
        "twice",
        [group(0, "a", UNKNOWN), group(1, "a"), drained("a", "a", ids=["1", "2"], queue=FIFO)],
    ),
    "received while hidden": ("early", [call("send", 0, "a"), received(1, "a"), received(5, "a"), drained("a")]),
    "out of order": (
        "order",
        [
            group(0, "a"),
            group(1, "b"),
            received(2, "b", queue=FIFO),
            received(3, "a", queue=FIFO),
            drained("a", "b", queue=FIFO),
        ],
    ),
    "two of a group": (
        "together",
        [
            group(0, "a"),
            group(1, "b"),
            received(2, "a", queue=FIFO),
            received(3, "b", queue=FIFO),
            drained("a", "b", queue=FIFO),
        ],
    ),
    "received by two at the same time": (
        "early",
        [call("send", 0, "a"), received(1, "a"), received(1.05, "a"), drained("a")],
    ),
    "twice in one answer": ("early", [call("send", 0, "a"), received(1, "a", "a"), drained("a")]),
    "received while hidden again": (
        "early",
        [call("send", 0, "a"), received(1, "a"), call("hide", 2, "a", timeout_s=100), received(50, "a"), drained("a")],
    ),
    "two of a group at the same time": (
        "together",
        [
            group(0, "a"),
            group(1, "b"),
            received(2, "a", queue=FIFO),
            received(2.05, "b", queue=FIFO),
            drained("a", "b", queue=FIFO),
        ],
    ),
    "drained out of order": (
        "order",
        [
            group(0, "a"),
            group(1, "b"),
            received(1_000, "b", op="drain", queue=FIFO),
            received(1_001, "a", op="drain", queue=FIFO),
        ],
    ),
    "out of order in one answer": (
        "order",
        [group(0, "a"), group(1, "b"), of_fifo(2, "b", "a"), drained("a", queue=FIFO), drained("b", queue=FIFO)],
    ),
    "a publication that was refused": (
        "refused",
        [call("publish", 0, "a", outcome=REFUSED), drained("a")],
    ),
    "a publication in another queue": ("refused", [call("publish", 0, "a"), drained("a", queue="other")]),
    "met in another queue, and then in its own": (
        "refused",
        [call("send", 0, "a"), received(1, "a", queue="other"), drained("a")],
    ),
    "in another queue": ("refused", [call("send", 0, "a"), drained("a", queue="other")]),
    "half of a publication": ("lost", [call("publish", 0, "a", "b", outcome=UNKNOWN), drained("a")]),
    "a third time": (
        "deliveries",
        [
            call("send", 0, "a", queue="failing"),
            *[received(at, "a", queue="failing") for at in (120, 140, 160)],
            drained("a", queue="dead"),
        ],
    ),
    "a lease that changes": (
        "leases",
        [call("send", 0, "a", "b"), received(1, "a", "b", op="lease"), received(2, "a", op="lease"), drained("a", "b")],
    ),
    "in two leases": (
        "leases",
        [
            call("send", 0, "a"),
            received(1, "a", op="lease", sequence=0),
            received(2, "a", op="lease", sequence=1),
            drained("a"),
        ],
    ),
}


@pytest.mark.parametrize(("rule", "calls"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_a_planted_violation_is_found(rule: str, calls: list[Call]) -> None:
    assert rules(*calls) == {rule}


def test_a_wrong_count_is_found() -> None:
    assert rules(call("send", 0, "a"), drained("a"), counts={"q": 2}) == {"counts"}
    assert rules(call("send", 0, "a"), drained("a"), counts={"q": 1}) == set()


def test_services_whose_clocks_differ() -> None:
    """By so much a message may come back early, and no earlier."""
    sent = [call("send", 0, "a"), received(1, "a", timeout_s=2)]
    for at, found in [(2.0, {"early"}), (2.2, set[str]())]:
        assert rules(*sent, received(at, "a"), drained("a"), skew_s=0.8) == found, at
    assert rules(*sent, received(2.2, "a"), drained("a")) == {"early"}


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, _ in VIOLATIONS.values()} | {"counts"} == {rule.__name__ for rule in RULES}


def test_a_good_history() -> None:
    calls = [
        call("send", 0, "a", "b"),
        received(1, "a", "b", timeout_s=3),
        call("delete", 2, "a"),
        received(5, "b"),
        drained("b"),
    ]
    assert rules(*calls, counts={"q": 1}) == set()


EXCUSED = {
    "nobody knows whether it was sent": [call("send", 0, "a", outcome=UNKNOWN)],
    "it was refused": [call("send", 0, "a", outcome=REFUSED)],
    "nobody knows whether it was deleted": [call("send", 0, "a"), call("delete", 1, "a", outcome=UNKNOWN)],
    "it was purged": [call("send", 0, "a"), call("purge", 0.05)],
    "a purge that may still come": [call("send", 5, "a"), call("purge", 0, outcome=UNKNOWN)],
    "it was acknowledged": [call("send", 0, "a"), received(1, "a", op="lease"), call("ack", 2)],
    "it may have been acknowledged": [
        call("send", 0, "a"),
        received(1, "a", op="lease"),
        call("ack", 2, outcome=UNKNOWN),
        drained("a"),
    ],
    "a later lease was acknowledged not": [
        call("send", 0, "a"),
        received(1, "a", op="lease", sequence=1),
        call("ack", 2, sequence=0),
        drained("a"),
    ],
    "it was shown": [
        call("send", 0, "a"),
        received(1, "a"),
        call("hide", 2, "a"),
        received(3, "a"),
        drained("a"),
    ],
    "it may have been shown late": [
        call("send", 0, "a"),
        received(1, "a"),
        call("hide", 2, "a", outcome=UNKNOWN),
        received(30, "a"),
        received(33, "a"),
        drained("a"),
    ],
    "a short timeout, and a long wait": [
        call("send", 0, "a"),
        received(1, "a", timeout_s=0.05),
        received(1.05, "a", timeout_s=10),
        drained("a"),
    ],
    "hidden again, and shown by another": [
        call("send", 0, "a"),
        received(1, "a"),
        call("hide", 2, "a", timeout_s=100),
        call("hide", 3, "a"),
        received(4, "a"),
        drained("a"),
    ],
    "to its dead-letter queue": [call("send", 0, "a", queue="failing"), drained("a", queue="dead")],
    "a third time, on a full disk": [
        call("send", 0, "a", queue="failing"),
        *[received(at, "a", queue="failing") for at in (20, 40, 60)],
        drained("a", queue="dead"),
    ],
    "shown between two that overlap": [
        group(0, "a"),
        group(1, "b"),
        of_fifo(2, "a"),
        of_fifo(2.01, "a", "b"),
        call("hide", 2.05, "a", queue=FIFO),
        drained("a", "b", queue=FIFO),
    ],
    "in one receive": [group(0, "a"), group(1, "b"), received(2, "a", "b", queue=FIFO), drained("a", "b", queue=FIFO)],
    "the first again before the second": [
        group(0, "a"),
        group(1, "b"),
        received(2, "a", "b", queue=FIFO),
        call("hide", 3, "a", queue=FIFO),
        received(4, "a", queue=FIFO),
        drained("a", "b", queue=FIFO),
    ],
}


@pytest.mark.parametrize("calls", EXCUSED.values(), ids=EXCUSED)
def test_what_nobody_can_know_is_no_violation(calls: list[Call]) -> None:
    assert rules(*calls) == set()


def test_while_the_clock_is_set_nothing_is_early() -> None:
    calls = [call("send", 0, "a"), received(1, "a"), received(5, "a"), drained("a")]
    assert rules(*calls, faults=[Fault("clock", 3, 3, 30.0)]) == set()
    assert rules(*calls, faults=[Fault("clock", 20, 20, 30.0)]) == {"early"}


def test_what_a_front_end_had_answered_when_it_died_may_come_again() -> None:
    calls = (call("send", 0, "a"), received(1, "a"), received(5, "a"), drained("a"))
    assert rules(*calls, faults=[Fault("kill_front_end", 1.1, 1.2)]) == set()
    for fault in (Fault("kill_front_end", 3, 3.1), Fault("kill_front_end", 0.5, 0.6), Fault("kill", 1.1, 1.2)):
        assert rules(*calls, faults=[fault]) == {"early"}


def test_a_queue_that_may_give_a_message_twice_is_never_early_but_may_lose() -> None:
    calls = [call("send", 0, "a"), received(1, "a"), received(1.5, "a")]
    assert rules(*calls, drained("a"), shared={"q"}) == set()
    assert rules(*calls, shared={"q"}) == {"lost"}


def test_messages_that_a_task_brings_back_have_new_ids() -> None:
    calls = [call("send", 0, "a"), received(1, "a"), drained("a", ids=["other"])]
    assert rules(*calls, renaming={"q"}) == set()


def test_the_summary_counts() -> None:
    history = History([call("send", 0, "a"), call("send", 1, "b", outcome=UNKNOWN)], [Fault("kill", 1, 2)])
    assert summary(history) == "send: 1 done, 1 unknown\nfaults: 1 kill"


def test_a_violation_is_told_with_what_led_to_it() -> None:
    faults = [Fault("clock", 12 - NEAR_S, 12 - NEAR_S, jump_s=0.5), Fault("kill", 1, 1), Fault("pause", 99, 99)]
    calls = [call("send", 10, "a", "b"), received(12, "a"), call("send", 13, "c"), received(14, "a", "b")]
    history = History([*calls, drained("c")], faults=faults)
    (early,) = [violation for violation in check(history) if violation.rule == "early"]
    assert list(story(history, early)) == [
        "  -3.000 to -3.000: clock +0.500 s",
        "  0.000 to 0.100: send done",
        "  2.000 to 2.100: receive done a for 10 s",
        "  4.000 to 4.100: receive done a for 10 s",
    ]
