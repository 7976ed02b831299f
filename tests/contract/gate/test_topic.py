"""Between accounts: what one may do with another's topics, and which queues a topic may send to."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract.gate.conftest import NewName, Tenant
from tests.support.refusal import refused
from tests.support.sns import sns_client, texts
from tests.support.sqs_queue import SqsQueue

Door = Callable[[Tenant], Any]


@pytest.fixture
def sns() -> Iterator[Door]:
    """A client of a tenant."""
    made: dict[str, Any] = {}

    def client(tenant: Tenant) -> Any:
        if tenant.id not in made:
            made[tenant.id] = sns_client(tenant.service.endpoint, tenant.made.access_key, tenant.made.secret)
        return made[tenant.id]

    yield client
    for each in made.values():
        each.close()


@pytest.fixture
def topic(alice: Tenant, sns: Door, new_name: NewName) -> str:
    """Alice's."""
    arn: str = sns(alice).create_topic(Name=new_name())["TopicArn"]
    return arn


def subscribe(client: Any, topic: str, queue: SqsQueue, **attributes: str) -> str:
    arn: str = client.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue.arn, Attributes=attributes)[
        "SubscriptionArn"
    ]
    return arn


SHARED: dict[str, Callable[[Any, str], Any]] = {
    "Publish": lambda sns, topic: sns.publish(TopicArn=topic, Message="m"),
    "GetTopicAttributes": lambda sns, topic: sns.get_topic_attributes(TopicArn=topic),
    "SetTopicAttributes": lambda sns, topic: sns.set_topic_attributes(
        TopicArn=topic, AttributeName="DisplayName", AttributeValue="x"
    ),
    "ListSubscriptionsByTopic": lambda sns, topic: sns.list_subscriptions_by_topic(TopicArn=topic),
    "ListTagsForResource": lambda sns, topic: sns.list_tags_for_resource(ResourceArn=topic),
    "AddPermission": lambda sns, topic: sns.add_permission(
        TopicArn=topic, Label="other", AWSAccountId=["1" * 12], ActionName=["Publish"]
    ),
    "DeleteTopic": lambda sns, topic: sns.delete_topic(TopicArn=topic),
}
OWNERS: dict[str, Callable[[Any, str], Any]] = {
    "TagResource": lambda sns, topic: sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "a", "Value": "b"}]),
    "UntagResource": lambda sns, topic: sns.untag_resource(ResourceArn=topic, TagKeys=["a"]),
}


@pytest.mark.parametrize("action", SHARED)
def test_others_may_do_what_the_policy_allows(action: str, alice: Tenant, bob: Tenant, sns: Door, topic: str) -> None:
    act = SHARED[action]
    with refused("AuthorizationError", status=403):
        act(sns(bob), topic)
    sns(alice).add_permission(TopicArn=topic, Label="bob", AWSAccountId=[bob.id], ActionName=[action])
    act(sns(bob), topic)


@pytest.mark.parametrize("action", OWNERS)
def test_some_things_stay_the_owners(action: str, alice: Tenant, bob: Tenant, sns: Door, topic: str) -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "SNS:*", "Resource": topic}
    policy = json.dumps({"Statement": [statement]})
    sns(alice).set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
    with refused("AuthorizationError", status=403):
        OWNERS[action](sns(bob), topic)
    OWNERS[action](sns(alice), topic)


def test_a_batch_goes_by_the_permission_to_publish(alice: Tenant, bob: Tenant, sns: Door, topic: str) -> None:
    entries = [{"Id": "a", "Message": "m"}]
    with refused("AuthorizationError", status=403):
        sns(bob).publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    sns(alice).add_permission(TopicArn=topic, Label="bob", AWSAccountId=[bob.id], ActionName=["Publish"])
    assert len(sns(bob).publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)["Successful"]) == 1
    assert sns(bob).publish(TargetArn=topic, Message="m")["MessageId"]


def test_what_is_not_there_is_denied_as_well(bob: Tenant, alice: Tenant, sns: Door, topic: str) -> None:
    with refused("AuthorizationError", status=403):
        sns(bob).publish(TopicArn=f"{topic}-2", Message="m")
    with refused("NotFound", status=404):
        sns(alice).publish(TopicArn=f"{topic}-2", Message="m")


def test_a_deny_holds_for_the_owner(alice: Tenant, sns: Door, topic: str) -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": ["SNS:Publish", "SNS:SetTopicAttributes"], "Resource": topic}
    policy = json.dumps({"Statement": deny})
    sns(alice).set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
    text = f"Access to the resource {topic} is denied by an explicit deny in the topic's policy."
    with refused("AuthorizationError", text, status=403):
        sns(alice).publish(TopicArn=topic, Message="m")
    # What repairs a mistake stays possible.
    sns(alice).set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue="")
    sns(alice).publish(TopicArn=topic, Message="m")


def test_each_sees_his_own_topics(alice: Tenant, bob: Tenant, sns: Door, topic: str, new_name: NewName) -> None:
    his = sns(bob).create_topic(Name=topic.rpartition(":")[2])["TopicArn"]
    assert his != topic

    def arns(tenant: Tenant) -> set[str]:
        return {each["TopicArn"] for each in sns(tenant).list_topics()["Topics"]}

    assert (topic in arns(alice), topic in arns(bob)) == (True, False)
    assert (his in arns(alice), his in arns(bob)) == (False, True)


# Queues of others.


def test_a_queue_of_another_account(alice: Tenant, bob: Tenant, sns: Door, topic: str, new_name: NewName) -> None:
    queue = bob.queue(new_name())
    with refused("AuthorizationError", status=403):
        subscribe(sns(alice), topic, queue)
    queue.sqs.add_permission(QueueUrl=queue.url, Label="a", AWSAccountIds=[alice.id], Actions=["SendMessage"])
    subscribe(sns(alice), topic, queue)
    sns(alice).publish(TopicArn=topic, Message="one")
    assert texts(queue) == ["one"]
    queue.sqs.remove_permission(QueueUrl=queue.url, Label="a")
    sns(alice).publish(TopicArn=topic, Message="two")
    assert queue.counts()[0] == 0


def test_a_queue_that_does_not_exist(alice: Tenant, bob: Tenant, sns: Door, topic: str) -> None:
    """Nobody learns which queues others have."""
    missing = f"arn:aws:sqs:us-east-1:{bob.id}:no-such-queue"
    with refused("AuthorizationError", status=403):
        sns(alice).subscribe(TopicArn=topic, Protocol="sqs", Endpoint=missing)
    with refused("InvalidParameter"):
        sns(bob).subscribe(TopicArn=sns(bob).create_topic(Name="mine")["TopicArn"], Protocol="sqs", Endpoint=missing)


@pytest.mark.parametrize("source", ["topic", "account"])
def test_a_policy_for_the_service_that_delivers(
    alice: Tenant, bob: Tenant, sns: Door, topic: str, new_name: NewName, source: str
) -> None:
    """As the documentation of SNS has it, and tools write it."""
    queue = bob.queue(new_name())
    condition = (
        {"ArnEquals": {"aws:SourceArn": topic}}
        if source == "topic"
        else {"StringEquals": {"aws:SourceAccount": alice.id}}
    )
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue.arn,
        "Condition": condition,
    }
    queue.set(Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    subscribe(sns(alice), topic, queue)
    other = sns(bob).create_topic(Name=new_name())["TopicArn"]
    carols_way = alice.view(queue)
    with refused("AccessDenied", status=403):
        carols_way.send("directly")
    sns(alice).publish(TopicArn=topic, Message="m")
    assert texts(queue) == ["m"]
    # Of his own topic the owner need not say a word.
    subscribe(sns(bob), other, queue)


def test_who_subscribes_another_s_topic(
    alice: Tenant, bob: Tenant, carol: Tenant, sns: Door, topic: str, new_name: NewName
) -> None:
    queue = bob.queue(new_name())
    with refused("AuthorizationError", status=403):
        subscribe(sns(bob), topic, queue)
    sns(alice).add_permission(TopicArn=topic, Label="bob", AWSAccountId=[bob.id], ActionName=["Subscribe"])
    arn = subscribe(sns(bob), topic, queue)
    sns(alice).publish(TopicArn=topic, Message="m")
    assert texts(queue) == ["m"]
    # It is the matter of both.
    for tenant in (alice, bob):
        assert sns(tenant).get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["Owner"] == bob.id
    with refused("AuthorizationError", status=403):
        sns(carol).get_subscription_attributes(SubscriptionArn=arn)
    with refused("AuthorizationError", status=403):
        sns(carol).unsubscribe(SubscriptionArn=arn)
    sns(bob).unsubscribe(SubscriptionArn=arn)
    sns(alice).publish(TopicArn=topic, Message="n")
    assert queue.counts()[0] == 0


def test_dead_letters_do_not_go_to_queues_of_others(
    alice: Tenant, bob: Tenant, sns: Door, topic: str, new_name: NewName
) -> None:
    queue, others = alice.queue(new_name()), bob.queue(new_name())
    redrive = json.dumps({"deadLetterTargetArn": others.arn})
    with refused("AuthorizationError", status=403):
        subscribe(sns(alice), topic, queue, RedrivePolicy=redrive)
    arn = subscribe(sns(alice), topic, queue)
    with refused("AuthorizationError", status=403):
        sns(alice).set_subscription_attributes(
            SubscriptionArn=arn, AttributeName="RedrivePolicy", AttributeValue=redrive
        )


def test_requests_that_are_not_signed(alice: Tenant, sns: Door, topic: str) -> None:
    stranger = sns_client(alice.service.endpoint, "RDAKNOBODYNOBODYNOBO", "x" * 40)
    with refused("InvalidClientTokenId", status=403):
        stranger.publish(TopicArn=topic, Message="m")
    wrong = sns_client(alice.service.endpoint, alice.made.access_key, "x" * 40)
    with refused("SignatureDoesNotMatch", status=403):
        wrong.publish(TopicArn=topic, Message="m")
    for each in (stranger, wrong):
        each.close()
