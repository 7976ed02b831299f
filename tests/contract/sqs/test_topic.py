"""Topics and subscriptions: made, looked at, changed and removed, with SNS's SDK."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rockdove.core import limits
from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sns import sns_client
from tests.support.sqs_queue import SqsQueue

ACCOUNT = "000000000000"
OF_A_QUEUE = json.dumps({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "SQS:SendMessage"}})
NO_QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:no-such-queue"


@pytest.fixture
def sns(service: RunningService) -> Iterator[Any]:
    client = sns_client(service.endpoint)
    yield client
    client.close()


@pytest.fixture
def make(service: RunningService, new_name: NewName) -> QueueMaker:
    return QueueMaker(service.client(), new_name)


@pytest.fixture
def topic(sns: Any, new_name: NewName) -> str:
    arn: str = sns.create_topic(Name=new_name())["TopicArn"]
    return arn


@pytest.fixture
def fifo_topic(sns: Any, new_name: NewName) -> str:
    arn: str = sns.create_topic(Name=new_name(".fifo"), Attributes={"FifoTopic": "true"})["TopicArn"]
    return arn


def subscribe(sns: Any, topic: str, queue: SqsQueue, **attributes: str) -> str:
    arn: str = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue.arn, Attributes=attributes)[
        "SubscriptionArn"
    ]
    return arn


def pages(call: Any, member: str, **parameters: Any) -> Iterator[list[dict[str, str]]]:
    while True:
        answer = call(**parameters)
        yield answer[member]
        if "NextToken" not in answer:
            return
        parameters["NextToken"] = answer["NextToken"]


# Topics.


def test_a_topic_is_made_once(sns: Any, new_name: NewName) -> None:
    name = new_name()
    wanted = {"Name": name, "Attributes": {"DisplayName": "News"}, "Tags": [{"Key": "team", "Value": "red"}]}
    arn = sns.create_topic(**wanted)["TopicArn"]
    assert arn == f"arn:aws:sns:us-east-1:{ACCOUNT}:{name}"
    assert sns.create_topic(**wanted)["TopicArn"] == arn
    assert sns.create_topic(Name=name)["TopicArn"] == arn
    reason = "Invalid parameter: {} Reason: Topic already exists with different {}"
    with refused("InvalidParameter", reason.format("Attributes", "attributes")):
        sns.create_topic(Name=name, Attributes={"DisplayName": "Olds"})
    with refused("InvalidParameter", reason.format("Tags", "tags")):
        sns.create_topic(Name=name, Tags=[{"Key": "team", "Value": "blue"}])


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("", {}),
        ("a b", {}),
        ("ä", {}),
        ("a.b", {}),
        ("x" * 257, {}),
        ("a.fifo", {}),
        ("a", {"FifoTopic": "true"}),
        (".fifo", {"FifoTopic": "true"}),
        ("a", {"FifoTopic": "perhaps"}),
        ("a", {"Nonsense": "1"}),
        ("a", {"DisplayName": "x" * 101}),
        ("a", {"DisplayName": "a\nb"}),
        ("a", {"ContentBasedDeduplication": "true"}),
        ("a.fifo", {"FifoTopic": "true", "ContentBasedDeduplication": "1"}),
        ("a", {"Policy": "nonsense"}),
        (
            "a",
            {"Policy": json.dumps({"Statement": {"Effect": "Allow", "Principal": "*", "Action": "SQS:SendMessage"}})},
        ),
        ("a", {"DeliveryPolicy": "[]"}),
        ("a", {"SignatureVersion": "3"}),
        ("a", {"TracingConfig": "Passive"}),
        ("a", {"KmsMasterKeyId": "x" * 3_000}),
    ],
)
def test_topics_that_there_cannot_be(sns: Any, name: str, attributes: dict[str, str]) -> None:
    with refused("InvalidParameter"):
        sns.create_topic(Name=name, Attributes=attributes)


def test_attributes_of_a_topic(sns: Any, topic: str) -> None:
    def attributes() -> dict[str, str]:
        found: dict[str, str] = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
        return found

    policy = attributes().pop("Policy")
    assert json.loads(policy)["Statement"][0]["Resource"] == topic
    assert {name: value for name, value in attributes().items() if name != "Policy"} == {
        "TopicArn": topic,
        "Owner": ACCOUNT,
        "DisplayName": "",
        "SubscriptionsConfirmed": "0",
        "SubscriptionsPending": "0",
        "SubscriptionsDeleted": "0",
    }
    # What is told can be given back.
    sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=policy)
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="News")
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DeliveryPolicy", AttributeValue='{"http": {}}')
    assert attributes()["DisplayName"] == "News"
    assert attributes()["DeliveryPolicy"] == '{"http": {}}'
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="")
    assert attributes()["DisplayName"] == ""
    for name, value in (("FifoTopic", "true"), ("Owner", "1"), ("Nonsense", ""), ("ContentBasedDeduplication", "true")):
        with refused("InvalidParameter"):
            sns.set_topic_attributes(TopicArn=topic, AttributeName=name, AttributeValue=value)


def test_attributes_of_a_fifo_topic(sns: Any, fifo_topic: str) -> None:
    sns.set_topic_attributes(TopicArn=fifo_topic, AttributeName="ContentBasedDeduplication", AttributeValue="true")
    attributes = sns.get_topic_attributes(TopicArn=fifo_topic)["Attributes"]
    assert (attributes["FifoTopic"], attributes["ContentBasedDeduplication"]) == ("true", "true")
    assert attributes["FifoThroughputScope"] == "Topic"


def test_a_topic_that_is_deleted(sns: Any, topic: str, make: QueueMaker) -> None:
    subscription = subscribe(sns, topic, make())
    sns.delete_topic(TopicArn=topic)
    sns.delete_topic(TopicArn=topic)
    sns.unsubscribe(SubscriptionArn=subscription)
    for ask in (
        lambda: sns.get_topic_attributes(TopicArn=topic),
        lambda: sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="x"),
        lambda: sns.publish(TopicArn=topic, Message="m"),
        lambda: sns.list_subscriptions_by_topic(TopicArn=topic),
        lambda: sns.get_subscription_attributes(SubscriptionArn=subscription),
        lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=NO_QUEUE),
        lambda: sns.add_permission(TopicArn=topic, Label="a", AWSAccountId=["1" * 12], ActionName=["Publish"]),
    ):
        with refused("NotFound", status=404):
            ask()
    with refused("ResourceNotFound", status=404):
        sns.list_tags_for_resource(ResourceArn=topic)
    # A new one of that name has nothing of the old.
    again = sns.create_topic(Name=topic.rpartition(":")[2])["TopicArn"]
    assert sns.list_subscriptions_by_topic(TopicArn=again)["Subscriptions"] == []


def test_topics_come_in_pages(sns: Any, new_name: NewName) -> None:
    prefix = new_name()
    made = {sns.create_topic(Name=f"{prefix}-{number:03d}")["TopicArn"] for number in range(130)}
    found = [[each["TopicArn"] for each in page] for page in pages(sns.list_topics, "Topics")]
    assert all(len(page) == limits.MAX_LISTED_TOPICS for page in found[:-1])
    arns = [arn for page in found for arn in page]
    assert made <= set(arns)
    assert len(arns) == len(set(arns))
    with refused("InvalidParameter"):
        sns.list_topics(NextToken="?")


def test_tags(sns: Any, topic: str) -> None:
    def tags() -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in sns.list_tags_for_resource(ResourceArn=topic)["Tags"]}

    sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}])
    sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "a", "Value": "<2>"}])
    assert tags() == {"a": "<2>", "b": ""}
    sns.untag_resource(ResourceArn=topic, TagKeys=["a", "unknown"])
    assert tags() == {"b": ""}
    with refused("TagLimitExceeded"):
        sns.tag_resource(ResourceArn=topic, Tags=[{"Key": f"k{n}", "Value": "v"} for n in range(limits.MAX_TAGS)])
    for wrong in (
        [{"Key": "", "Value": "v"}],
        [{"Key": "aws:x", "Value": "v"}],
        [{"Key": "k", "Value": "v" * 257}],
        [],
    ):
        with refused("InvalidParameter"):
            sns.tag_resource(ResourceArn=topic, Tags=wrong)


def test_what_is_no_arn(sns: Any, topic: str) -> None:
    for arn in ("", "orders", NO_QUEUE, f"{topic}:x", f"{topic}:{'0' * 8}"):
        with refused("InvalidParameter"):
            sns.get_topic_attributes(TopicArn=arn)
        with refused("InvalidParameter"):
            sns.delete_topic(TopicArn=arn)
    with refused("InvalidParameter"):
        sns.get_subscription_attributes(SubscriptionArn=topic)


# Subscriptions.


def test_a_queue_subscribes_once(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    arn = subscribe(sns, topic, queue, RawMessageDelivery="true")
    assert arn.startswith(f"{topic}:")
    assert subscribe(sns, topic, queue, RawMessageDelivery="true") == arn
    assert subscribe(sns, topic, queue) == arn
    with refused(
        "InvalidParameter",
        "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
    ):
        subscribe(sns, topic, queue, RawMessageDelivery="false")
    listed = {
        "SubscriptionArn": arn,
        "Owner": ACCOUNT,
        "Protocol": "sqs",
        "Endpoint": queue.arn,
        "TopicArn": topic,
    }
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == [listed]
    assert listed in [each for page in pages(sns.list_subscriptions, "Subscriptions") for each in page]
    assert sns.get_topic_attributes(TopicArn=topic)["Attributes"]["SubscriptionsConfirmed"] == "1"
    sns.unsubscribe(SubscriptionArn=arn)
    sns.unsubscribe(SubscriptionArn=arn)
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_what_cannot_subscribe(sns: Any, topic: str, fifo_topic: str, make: QueueMaker) -> None:
    for protocol, endpoint in (
        ("http", "http://127.0.0.1"),
        ("sqs", ""),
        ("sqs", "orders"),
        ("sqs", NO_QUEUE),
        ("sqs", topic),
    ):
        with refused("InvalidParameter"):
            sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=endpoint)
    fifo = make.fifo()
    reason = "FIFO SQS Queues can not be subscribed to standard SNS topics"
    with refused("InvalidParameter", f"Invalid parameter: Endpoint Reason: {reason}"):
        subscribe(sns, topic, fifo)
    subscribe(sns, fifo_topic, fifo)
    subscribe(sns, fifo_topic, make())


def test_subscriptions_come_in_pages(sns: Any, fifo_topic: str, make: QueueMaker) -> None:
    queues = [make() for _ in range(limits.MAX_FIFO_SUBSCRIPTIONS)]
    made = {subscribe(sns, fifo_topic, queue) for queue in queues}
    extra = make()
    with refused("SubscriptionLimitExceeded", status=403):
        subscribe(sns, fifo_topic, extra)
    found = list(pages(sns.list_subscriptions_by_topic, "Subscriptions", TopicArn=fifo_topic))
    assert [len(page) for page in found] == [limits.MAX_LISTED_TOPICS]
    assert {each["SubscriptionArn"] for page in found for each in page} == made
    other = sns.create_topic(Name="other-" + fifo_topic.rpartition(":")[2], Attributes={"FifoTopic": "true"})
    one_more = subscribe(sns, other["TopicArn"], extra)
    mine = [each["SubscriptionArn"] for page in pages(sns.list_subscriptions, "Subscriptions") for each in page]
    assert made | {one_more} <= set(mine)
    assert len(mine) == len(set(mine))


def test_attributes_of_a_subscription(sns: Any, topic: str, make: QueueMaker) -> None:
    queue, dead = make(), make()
    arn = subscribe(sns, topic, queue)

    def attributes() -> dict[str, str]:
        found: dict[str, str] = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
        return found

    def put(name: str, value: str) -> None:
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)

    before = attributes()
    assert before == {
        "SubscriptionArn": arn,
        "TopicArn": topic,
        "Owner": ACCOUNT,
        "Protocol": "sqs",
        "Endpoint": queue.arn,
        "ConfirmationWasAuthenticated": "true",
        "PendingConfirmation": "false",
        "RawMessageDelivery": "false",
    }
    redrive = json.dumps({"deadLetterTargetArn": dead.arn})
    put("RawMessageDelivery", "true")
    put("FilterPolicy", '{"kind": ["paid"]}')
    put("RedrivePolicy", redrive)
    assert attributes() == before | {
        "RawMessageDelivery": "true",
        "FilterPolicy": '{"kind": ["paid"]}',
        "FilterPolicyScope": "MessageAttributes",
        "RedrivePolicy": redrive,
    }
    put("FilterPolicyScope", "MessageBody")
    put("FilterPolicy", '{"order": {"kind": ["paid"]}}')
    with refused("InvalidParameter"):
        # Objects in a policy are for bodies.
        put("FilterPolicyScope", "MessageAttributes")
    put("FilterPolicy", "{}")
    put("RedrivePolicy", "")
    put("RawMessageDelivery", "false")
    assert attributes() == before | {"FilterPolicyScope": "MessageBody"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RawMessageDelivery", "yes"),
        ("FilterPolicy", "nonsense"),
        ("FilterPolicy", "[]"),
        ("FilterPolicy", '{"a": "b"}'),
        ("FilterPolicyScope", "Message"),
        ("RedrivePolicy", "nonsense"),
        ("RedrivePolicy", "{}"),
        ("RedrivePolicy", json.dumps({"deadLetterTargetArn": NO_QUEUE})),
        ("DeliveryPolicy", "1"),
        ("Endpoint", NO_QUEUE),
        ("Nonsense", "1"),
    ],
)
def test_attributes_that_a_subscription_cannot_have(
    sns: Any, topic: str, make: QueueMaker, name: str, value: str
) -> None:
    queue = make()
    with refused("InvalidParameter"):
        subscribe(sns, topic, queue, **{name: value})
    arn = subscribe(sns, topic, queue)
    with refused("InvalidParameter"):
        sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName=name, AttributeValue=value)


def test_a_dead_letter_queue_is_of_the_same_kind(sns: Any, fifo_topic: str, make: QueueMaker) -> None:
    redrive = json.dumps({"deadLetterTargetArn": make().arn})
    with refused("InvalidParameter"):
        subscribe(sns, fifo_topic, make.fifo(), RedrivePolicy=redrive)
    subscribe(sns, fifo_topic, make(), RedrivePolicy=redrive)


def test_permissions_are_written_into_the_policy(sns: Any, topic: str) -> None:
    sns.add_permission(
        TopicArn=topic, Label="them", AWSAccountId=["1" * 12, "2" * 12], ActionName=["Publish", "Subscribe"]
    )
    policy = json.loads(sns.get_topic_attributes(TopicArn=topic)["Attributes"]["Policy"])
    assert policy["Statement"] == [
        {
            "Sid": "them",
            "Effect": "Allow",
            "Principal": {"AWS": [f"arn:aws:iam::{'1' * 12}:root", f"arn:aws:iam::{'2' * 12}:root"]},
            "Action": ["SNS:Publish", "SNS:Subscribe"],
            "Resource": topic,
        }
    ]
    for label, accounts, actions in (
        ("them", ["1" * 12], ["Publish"]),
        ("x", ["1"], ["Publish"]),
        ("x", ["1" * 12], ["CreateTopic"]),
    ):
        with refused("InvalidParameter"):
            sns.add_permission(TopicArn=topic, Label=label, AWSAccountId=accounts, ActionName=actions)
    sns.remove_permission(TopicArn=topic, Label="them")
    with refused("InvalidParameter"):
        sns.remove_permission(TopicArn=topic, Label="them")


# Protocols.


def test_errors_say_what_is_missing_or_wrong(web: Web) -> None:
    for parameters, status, code in (
        ({"Action": "CreateTopic"}, 400, "InvalidParameter"),
        ({"Action": "Publish", "Message": "m"}, 400, "InvalidParameter"),
        ({"Action": "Publish", "TopicArn": "x"}, 400, "InvalidParameter"),
        ({"Action": "SendMessage"}, 400, "InvalidAction"),
        ({"Action": "CreateTopic", "Name": "a", "Attributes.x": "1"}, 400, "InvalidParameter"),
        ({"Action": "CreateTopic", "Name": "a", "Tags.member.1": "1"}, 400, "InvalidParameter"),
        (
            {"Action": "Subscribe", "TopicArn": "a", "Protocol": "sqs", "ReturnSubscriptionArn": "2"},
            400,
            "InvalidParameter",
        ),
        ({"Action": "PublishBatch", "TopicArn": "arn:aws:sns:us-east-1:000000000000:none"}, 404, "NotFound"),
    ):
        reply = web.post("/", {}, Version="2010-03-31", **parameters)
        assert reply.status == status, parameters
        assert f"<Code>{code}</Code>".encode() in reply.body
    reply = web.post("/", {}, Version="2010-03-30", Action="ListTopics")
    assert b"<Code>NoSuchVersion</Code>" in reply.body


def test_answers_in_both_forms(web: Web, topic: str) -> None:
    reply = web.post("/", {}, Version="2010-03-31", Action="GetTopicAttributes", TopicArn=topic)
    assert b'<GetTopicAttributesResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">' in reply.body
    assert b"<Attributes><entry><key>TopicArn</key><value>" in reply.body
    reply = web.post(
        "/", {"Accept": "application/json"}, Version="2010-03-31", Action="GetTopicAttributes", TopicArn=topic
    )
    assert reply.json["GetTopicAttributesResponse"]["GetTopicAttributesResult"]["Attributes"]["TopicArn"] == topic
    assert web.call("AmazonSNS.GetTopicAttributes", {"TopicArn": topic}).json["Attributes"]["TopicArn"] == topic
