"""KMS and SSE attributes: validated, kept, returned, and never both at once."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

NAMES = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
BOTH = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."


def test_a_queue_begins_with_encryption_by_sqs(queue: SqsQueue) -> None:
    assert queue.attributes(*NAMES) == {"SqsManagedSseEnabled": "true"}


def test_a_key_with_its_period(queue: SqsQueue) -> None:
    wanted = {
        "KmsMasterKeyId": "testKeyId",
        "KmsDataKeyReusePeriodSeconds": "6000",
        "SqsManagedSseEnabled": "false",
    }
    queue.set(**wanted)
    assert queue.attributes(*NAMES) == wanted
    assert queue.attributes("All").items() >= wanted.items()


@pytest.mark.parametrize(
    "key",
    [
        "alias/aws/sqs",
        "alias/MyAlias",
        "1234abcd-12ab-34cd-56ef-1234567890ab",
        "arn:aws:kms:us-east-2:111122223333:key/1234abcd",
    ],
)
def test_a_key_at_creation_takes_the_place_of_encryption_by_sqs(make: QueueMaker, key: str) -> None:
    queue = make(KmsMasterKeyId=key)
    assert queue.attributes("KmsMasterKeyId", "SqsManagedSseEnabled") == {
        "KmsMasterKeyId": key,
        "SqsManagedSseEnabled": "false",
    }


def test_a_key_without_a_period_has_five_minutes(make: QueueMaker) -> None:
    """Documented: "Default: 300 (5 minutes)"."""
    queue = make(KmsMasterKeyId="alias/aws/sqs")
    assert queue.attributes("KmsDataKeyReusePeriodSeconds") == {"KmsDataKeyReusePeriodSeconds": "300"}


def test_only_one_kind_at_a_time(queue: SqsQueue, make: QueueMaker) -> None:
    with refused("InvalidAttributeName", BOTH):
        queue.set(KmsMasterKeyId="testKeyId", SqsManagedSseEnabled="true")
    with refused("InvalidAttributeName", BOTH):
        make(KmsMasterKeyId="testKeyId", SqsManagedSseEnabled="true")
    assert queue.attributes(*NAMES) == {"SqsManagedSseEnabled": "true"}


def test_encryption_by_sqs_takes_the_place_of_a_key(make: QueueMaker) -> None:
    queue = make(KmsMasterKeyId="testKeyId")
    queue.set(SqsManagedSseEnabled="true")
    told = queue.attributes("All")
    assert told["SqsManagedSseEnabled"] == "true"
    assert "KmsMasterKeyId" not in told


def test_a_key_can_be_taken_away(make: QueueMaker) -> None:
    queue = make(KmsMasterKeyId="testKeyId")
    queue.set(KmsMasterKeyId="")
    assert "KmsMasterKeyId" not in queue.attributes("All")


def test_encryption_can_be_switched_off(queue: SqsQueue) -> None:
    queue.set(SqsManagedSseEnabled="false")
    assert queue.attributes(*NAMES) == {"SqsManagedSseEnabled": "false"}


@pytest.mark.parametrize("value", ["59", "86401", "", "x", "60.0"])
def test_the_period_is_a_minute_to_a_day(make: QueueMaker, value: str) -> None:
    text = "Invalid value for the parameter KmsDataKeyReusePeriodSeconds. Reason:"
    queue = make(KmsMasterKeyId="testKeyId")
    with refused("InvalidAttributeValue", text):
        queue.set(KmsDataKeyReusePeriodSeconds=value)
    for good in ("60", "86400"):
        queue.set(KmsDataKeyReusePeriodSeconds=good)
        assert queue.attributes("KmsDataKeyReusePeriodSeconds") == {"KmsDataKeyReusePeriodSeconds": good}


@pytest.mark.parametrize("value", ["", "yes", "1"])
def test_encryption_by_sqs_is_true_or_false(queue: SqsQueue, value: str) -> None:
    with refused("InvalidAttributeValue", "Invalid value for the parameter SqsManagedSseEnabled. Reason:"):
        queue.set(SqsManagedSseEnabled=value)


def test_messages_flow_through_encrypted_queues(make: QueueMaker) -> None:
    for queue in (make(KmsMasterKeyId="alias/aws/sqs"), make(SqsManagedSseEnabled="true")):
        queue.send("secret")
        assert queue.bodies() == ["secret"]
