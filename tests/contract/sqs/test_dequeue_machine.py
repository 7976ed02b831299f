"""Whatever the dequeue policy, and however physical queues come and go: no message is lost, doubled or stuck."""

from collections import defaultdict
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rockdove.core.dequeue import PolicyName
from tests.contract.sqs.conftest import NewName
from tests.contract.sqs.test_physical import change, described
from tests.support.longpoll import LongPoll
from tests.support.raw import Web
from tests.support.service import RunningService

GROUPS = ["a", "b", "c"]
HIDDEN_S = 1_000


class Machine(RuleBasedStateMachine):
    """One queue and its consumers. Times of the service pass only when a rule says so."""

    def __init__(self, service: RunningService, name: str, fifo: bool) -> None:
        super().__init__()
        self.service = service
        self.fifo = fifo
        self.web = Web(service.port)
        kind = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if fifo else {}
        self.url = self.web.create(
            name, VisibilityTimeout=str(HIDDEN_S), RockdoveMonitorMs="1", RockdoveRetrySleepMs="5", **kind
        )
        self.numbers = count()
        # What was sent and is not deleted, in the order of sending, with its group; and by body what is in flight.
        self.there: dict[str, str] = {}
        self.held: dict[str, str] = {}

    def call(self, operation: str, **more: Any) -> Any:
        reply = self.web.call(operation, {"QueueUrl": self.url, **more})
        assert reply.status == 200, reply
        return reply.json if reply.body else {}

    def entry(self, group: str) -> dict[str, Any]:
        body = str(next(self.numbers))
        self.there[body] = group
        return {"MessageBody": body, **({"MessageGroupId": group} if self.fifo else {})}

    @rule(groups=st.lists(st.sampled_from(GROUPS), min_size=1, max_size=6))
    def send(self, groups: list[str]) -> None:
        entries = [{"Id": str(at), **self.entry(group)} for at, group in enumerate(groups)]
        assert not self.call("SendMessageBatch", Entries=entries).get("Failed")

    @rule(limit=st.integers(1, 10))
    def receive(self, limit: int) -> None:
        self.take(self.call("ReceiveMessage", MaxNumberOfMessages=limit).get("Messages", []))

    def take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            body = message["Body"]
            assert body in self.there, "it was deleted"
            assert body not in self.held, "somebody has it"
            self.held[body] = message["ReceiptHandle"]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from(sorted(self.held)))
        self.call("DeleteMessage", ReceiptHandle=self.held.pop(body))
        del self.there[body]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def show_again(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from(sorted(self.held)))
        self.call("ChangeMessageVisibility", ReceiptHandle=self.held.pop(body), VisibilityTimeout=0)

    @rule()
    def let_timeouts_end(self) -> None:
        self.service.advance(HIDDEN_S + 1)
        self.held.clear()

    @rule(policy=st.sampled_from(list(PolicyName)), visits=st.integers(1, 4), spread=st.booleans())
    def choose(self, policy: PolicyName, visits: int, spread: bool) -> None:
        wanted = {"RockdoveDequeuePolicy": policy.value, "RockdoveMaxVisits": str(visits)}
        self.call("SetQueueAttributes", Attributes={**wanted, "RockdoveMonitorSpread": str(spread).lower()})

    @rule(number=st.integers(1, 6))
    def resize(self, number: int) -> None:
        wanted = {"RockdovePhysicalQueues": str(number)}
        reply = self.web.call("SetQueueAttributes", {"QueueUrl": self.url, "Attributes": wanted})
        # Some may have to leave before the next change.
        assert reply.status == 200 or "are leaving" in reply.json["message"], reply
        if not any(part["State"] == "up" for part in described(self.web, self.url)):
            assert change(self.web, self.url, 0, State="up").status == 200

    @rule()
    def let_go(self) -> None:
        self.service.let_go()

    @precondition(lambda self: not self.fifo)
    @rule(data=st.data(), state=st.sampled_from(["up", "down", "draining"]), weight=st.integers(0, 3))
    def set_physical(self, data: st.DataObject, state: str, weight: int) -> None:
        """At least one stays up."""
        parts = [part for part in described(self.web, self.url) if part["State"] != "leaving"]
        index = data.draw(st.integers(0, len(parts) - 1))
        if any(part["State"] == "up" for part in parts if part["Index"] != index):
            assert change(self.web, self.url, index, State=state, Weight=weight).status == 200

    @rule(group=st.sampled_from(GROUPS))
    def be_woken(self, group: str) -> None:
        """A receive that waits gets what is sent, unless its policy does not wait: pms does not after a vain visit."""
        named = self.call("GetQueueAttributes", AttributeNames=["RockdoveDequeuePolicy"])["Attributes"]
        policy = named["RockdoveDequeuePolicy"]
        if policy == PolicyName.CONVENTIONAL or (self.fifo and self.held):
            return
        poll = LongPoll(self.service.port, self.url, MaxNumberOfMessages=1)
        self.call("SendMessage", **self.entry(group))
        reply = poll.reply()
        assert reply.status == 200, reply
        messages = reply.json.get("Messages", [])
        assert len(messages) == 1 or policy == PolicyName.PMS
        self.take(messages)

    @invariant()
    def counts_are_exact(self) -> None:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.call("GetQueueAttributes", AttributeNames=names)["Attributes"]
        assert [int(told[name]) for name in names] == [len(self.there) - len(self.held), len(self.held)]

    def teardown(self) -> None:
        """All that is there gets out: every physical queue is visited within a bounded number of receives."""
        try:
            self.let_timeouts_end()
            parts = described(self.web, self.url)
            for part in parts:
                if part["State"] not in ("up", "leaving"):
                    assert change(self.web, self.url, part["Index"], State="up").status == 200
            self.drain(most_misses=len(parts))
            self.service.let_go()
            assert not [part for part in described(self.web, self.url) if part["State"] == "leaving"]
            self.call("DeleteQueue")
        finally:
            self.web.close()

    def drain(self, most_misses: int) -> None:
        order = defaultdict[str, list[int]](list)
        misses = 0
        while self.there:
            messages = self.call("ReceiveMessage", MaxNumberOfMessages=10).get("Messages", [])
            misses = 0 if messages else misses + 1
            assert misses <= most_misses, f"{len(self.there)} messages are stuck"
            for message in messages:
                order[self.there.pop(message["Body"])].append(int(message["Body"]))
                self.call("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])
        if self.fifo:
            assert all(bodies == sorted(bodies) for bodies in order.values())


@pytest.mark.parametrize("fifo", [False, True])
def test_machine(service: RunningService, new_name: NewName, fifo: bool) -> None:
    suffix = ".fifo" if fifo else ""
    run_state_machine_as_test(
        cast(type[Machine], lambda: Machine(service, new_name(suffix), fifo)),
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            # To look for a shorter example of a failure would take many minutes.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
