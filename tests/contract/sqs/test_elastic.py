"""Elastic queues: what they are set to, what a controller publishes, and that there is one at a time."""

from typing import Any

import pytest

from rockdove.core.limits import MAX_ELASTIC_STATE_BYTES
from tests.contract.sqs.conftest import NewName
from tests.support.raw import Reply, Web
from tests.support.service import RunningService

SETTINGS = '{"minLoad": 5, "maxLoad": 10, "policy": "model"}'


def put(web: Web, url: str, holder: str, seconds: float, **what: Any) -> Reply:
    request = {"QueueUrl": url, "Holder": holder, "HoldSeconds": seconds, **what}
    return web.call("Rockdove.PutElasticState", request)


def state(web: Web, url: str) -> dict[str, Any]:
    reply = web.call("Rockdove.GetElasticState", {"QueueUrl": url})
    assert reply.status == 200, reply
    found: dict[str, Any] = reply.json
    return found


def pause(web: Web, url: str, paused: bool) -> None:
    assert web.call("Rockdove.SetElasticControl", {"QueueUrl": url, "Paused": paused}).status == 200


def attributes(web: Web, url: str) -> dict[str, str]:
    reply = web.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["RockdoveElastic"]})
    found: dict[str, str] = reply.json.get("Attributes") or {}
    return found


def change(web: Web, url: str, value: str) -> Reply:
    return web.call("SetQueueAttributes", {"QueueUrl": url, "Attributes": {"RockdoveElastic": value}})


def test_it_is_an_attribute(web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.create(name, RockdoveElastic=SETTINGS)
    assert attributes(web, url) == {"RockdoveElastic": SETTINGS}
    # The same with other spaces is the same.
    web.create(name, RockdoveElastic=SETTINGS.replace(" ", ""))
    assert change(web, url, "").status == 200
    assert attributes(web, url) == {}
    assert change(web, url, "{}").status == 200
    assert attributes(web, url) == {"RockdoveElastic": "{}"}


def test_wrong_values_are_refused_with_the_range(web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    reply = change(web, url, '{"slots": 0}')
    assert reply.status == 400
    assert "RockdoveElastic. Reason: slots must be a whole number from 1 to 1,000, not 0" in reply.text
    assert attributes(web, url) == {}


def test_a_fifo_queue_cannot_be_elastic(web: Web, new_name: NewName) -> None:
    url = web.create(new_name() + ".fifo", FifoQueue="true")
    assert "It cannot be elastic" in change(web, url, SETTINGS).text
    assert change(web, url, "").status == 200


def test_one_controller_at_a_time(web: Web, new_name: NewName, service: RunningService) -> None:
    url = web.create(new_name())
    assert state(web, url) == {"Paused": False}
    assert put(web, url, "one", 30, State='{"workers": 3}').json == {"Paused": False}
    found = state(web, url)
    assert (found["Holder"], found["State"]) == ("one", '{"workers": 3}')
    assert found["Updated"] == pytest.approx(service.now_s, abs=60)
    assert found["HeldUntil"] == pytest.approx(found["Updated"] + 30)
    refused = put(web, url, "two", 30, State="{}")
    assert refused.status == 409
    assert refused.json["__type"].endswith("ElasticStateHeld")
    assert "one scales this queue, for " in refused.json["message"]
    assert state(web, url) == found
    # Without a state, the last one stays; with no seconds, another may.
    assert put(web, url, "one", 0).status == 200
    assert put(web, url, "two", 30).status == 200
    assert (state(web, url)["Holder"], state(web, url)["State"]) == ("two", '{"workers": 3}')


def test_the_next_may_when_the_time_is_over(web: Web, new_name: NewName, service: RunningService) -> None:
    url = web.create(new_name())
    assert put(web, url, "one", 30).status == 200
    service.advance(29)
    assert put(web, url, "two", 30).status == 409
    service.advance(2)
    assert put(web, url, "two", 30).status == 200
    assert put(web, url, "one", 1).status == 409


def test_a_controller_is_told_to_pause(web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    pause(web, url, True)
    assert state(web, url) == {"Paused": True}
    assert put(web, url, "one", 1).json == {"Paused": True}
    pause(web, url, False)
    assert state(web, url)["Holder"] == "one"
    assert put(web, url, "one", 1).json == {"Paused": False}


def test_it_outlives_a_purge(web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    put(web, url, "one", 30, State="x")
    assert web.call("PurgeQueue", {"QueueUrl": url}).status == 200
    assert state(web, url)["State"] == "x"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ({"Holder": ""}, "Holder is invalid. Reason: Must have 1 to 128 characters"),
        ({"Holder": "h" * 129}, "Holder is invalid"),
        ({"HoldSeconds": -1}, "HoldSeconds is invalid. Reason: Must be between 0 and 3,600"),
        ({"HoldSeconds": 3_601}, "HoldSeconds is invalid"),
        ({"State": "s" * (MAX_ELASTIC_STATE_BYTES + 1)}, "State is invalid. Reason: Must have at most 65,536 bytes"),
    ],
)
def test_what_is_wrong_is_told(web: Web, new_name: NewName, what: dict[str, Any], told: str) -> None:
    url = web.create(new_name())
    reply = web.call("Rockdove.PutElasticState", {"QueueUrl": url, "Holder": "one", "HoldSeconds": 1, **what})
    assert reply.status == 400
    assert told in reply.text
    assert state(web, url) == {"Paused": False}


def test_large_states_are_kept(web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    assert put(web, url, "one", 1, State="s" * MAX_ELASTIC_STATE_BYTES).status == 200
    assert len(state(web, url)["State"]) == MAX_ELASTIC_STATE_BYTES
