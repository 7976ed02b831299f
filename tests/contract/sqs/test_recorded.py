"""Answers as AWS was seen to give them, where its documentation says nothing, or something else."""

import hashlib
import json
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.raw import Reply, Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue, redrive

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
OWN = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-own"}}
JSON = {"Accept": "application/json", "X-Amz-Date": "20260203T040506Z"}


def _traces(queue: SqsQueue) -> dict[str, str | None]:
    found = queue.receive(MessageSystemAttributeNames=["AWSTraceHeader"])
    return {message["Body"]: message.get("Attributes", {}).get("AWSTraceHeader") for message in found}


@pytest.mark.parametrize("header", ["X-Amzn-Trace-Id", "x-amzn-trace-id", "X-AMZN-TRACE-ID"])
def test_the_trace_id_of_a_request_goes_with_its_messages(web: Web, queue: SqsQueue, header: str) -> None:
    traced = {header: TRACE}
    url = queue.url
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "a"}, traced).status == 200
    own = {"QueueUrl": url, "MessageBody": "b", "MessageSystemAttributes": OWN}
    assert web.call("SendMessage", own, traced).status == 200
    entries = [
        {"Id": "1", "MessageBody": "c"},
        {"Id": "2", "MessageBody": "d", "MessageSystemAttributes": OWN},
    ]
    assert web.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries}, traced).status == 200
    assert web.post("/", traced, Action="SendMessage", QueueUrl=url, MessageBody="e").status == 200
    # The next request on the connection has its own, or none.
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "f"}).status == 200
    assert _traces(queue) == {"a": TRACE, "b": "Root=1-own", "c": TRACE, "d": "Root=1-own", "e": TRACE, "f": None}


def test_a_delay_of_zero_on_a_fifo_queue_is_the_queue_s(service: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(DelaySeconds="10", ContentBasedDeduplication="true")
    fifo.send("x", MessageGroupId="g", DelaySeconds=0)
    assert fifo.counts() == (0, 0, 1)
    service.advance(10)
    assert fifo.bodies() == ["x"]
    for delay_s in (10, 1):
        with refused("InvalidParameterValue"):
            fifo.send("y", MessageGroupId="g", DelaySeconds=delay_s)


def test_a_message_that_is_visible_again_before_later_ones_of_its_group(make: QueueMaker) -> None:
    fifo = make.fifo(ContentBasedDeduplication="true")
    for body in "abc":
        fifo.send(body, MessageGroupId="g")
    first, second, _ = fifo.receive()
    fifo.hide(first, 0)
    (again,) = fifo.receive()
    assert again["Body"] == "a"
    fifo.hide(second, 0)
    assert fifo.receive() == []
    fifo.delete(again)
    assert [message["Body"] for message in fifo.receive()] == ["b"]


def test_without_a_key_there_is_no_period_for_it(make: QueueMaker) -> None:
    queue = make(KmsMasterKeyId="alias/x", KmsDataKeyReusePeriodSeconds="400")
    names = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
    queue.set(KmsMasterKeyId="")
    assert queue.attributes(*names) == {"SqsManagedSseEnabled": "false"}
    queue.set(KmsMasterKeyId="alias/y")
    assert queue.attributes(*names) == {
        "KmsMasterKeyId": "alias/y",
        "KmsDataKeyReusePeriodSeconds": "300",
        "SqsManagedSseEnabled": "false",
    }
    queue.set(SqsManagedSseEnabled="true")
    assert queue.attributes(*names) == {"SqsManagedSseEnabled": "true"}


def test_a_count_that_is_given_as_text_is_returned_as_a_number(make: QueueMaker) -> None:
    dead = make()
    queue = make(RedrivePolicy=json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": "007"}))
    assert json.loads(queue.attributes("RedrivePolicy")["RedrivePolicy"]) == {
        "deadLetterTargetArn": dead.arn,
        "maxReceiveCount": 7,
    }
    # What was a number stays as it was written.
    written = redrive(dead.arn, 7)
    queue.set(RedrivePolicy=written)
    assert queue.attributes("RedrivePolicy") == {"RedrivePolicy": written}


@pytest.mark.parametrize("name", ["größe", "naïve", "\uff11", "имя", "a\u0301"])
def test_names_of_attributes_are_ascii(queue: SqsQueue, name: str) -> None:
    with refused("InvalidParameterValue"):
        queue.send("x", MessageAttributes={name: {"DataType": "String", "StringValue": "y"}})


def test_changes_of_nothing(web: Web, queue: SqsQueue) -> None:
    for operation, members, missing in (
        ("TagQueue", {"Tags": {}}, "Tags"),
        ("UntagQueue", {"TagKeys": []}, "TagKeys"),
        ("SetQueueAttributes", {"Attributes": {}}, "Attribute.Name"),
    ):
        reply = web.call(operation, {"QueueUrl": queue.url, **members})
        assert (reply.status, reply.json["message"]) == (400, f"The request must contain the parameter {missing}.")
        reply = web.post("/", Action=operation, QueueUrl=queue.url)
        assert (reply.status, "<Code>MissingParameter</Code>" in reply.text) == (400, True)


def test_a_tag_without_a_value_is_refused(web: Web, queue: SqsQueue) -> None:
    for operation in ("TagQueue", "CreateQueue"):
        members = {"QueueUrl": queue.url, "QueueName": queue.name, "Tags": {"a": None}, "tags": {"a": None}}
        reply = web.call(operation, members)
        assert (reply.status, "not null" in reply.text) == (400, True)
    assert "Tags" not in web.call("ListQueueTags", {"QueueUrl": queue.url}).json


def test_a_statement_has_seven_actions_at_most(queue: SqsQueue) -> None:
    actions = ["SendMessage", "ReceiveMessage", "DeleteMessage", "PurgeQueue", "GetQueueUrl", "GetQueueAttributes"]
    statement = {"Effect": "Allow", "Principal": "*", "Resource": queue.arn}
    names = [f"sqs:{action}" for action in [*actions, "ChangeMessageVisibility", "ListDeadLetterSourceQueues"]]
    queue.set(Policy=json.dumps({"Statement": [{**statement, "Action": names[:7]}]}))
    text = "8 actions were found in a statement from the submitted policy, max allowed is 7"
    with refused("OverLimit", text, status=403):
        queue.set(Policy=json.dumps({"Statement": [{**statement, "Action": names}]}))


# Query that is answered in JSON.


def _json(reply: Reply) -> Any:
    assert reply.headers["content-type"] == "application/json"
    return reply.json


def test_query_that_accepts_json(web: Web, queue: SqsQueue) -> None:
    sent = _json(web.get("/", JSON, Action="SendMessage", QueueUrl=queue.url, MessageBody="é"))
    result = sent["SendMessageResponse"]["SendMessageResult"]
    assert sent["SendMessageResponse"]["ResponseMetadata"]["RequestId"]
    assert result.pop("MessageId")
    assert result == {
        "MD5OfMessageBody": hashlib.md5("é".encode()).hexdigest(),
        "MD5OfMessageAttributes": None,
        "MD5OfMessageSystemAttributes": None,
        "SequenceNumber": None,
    }
    received = _json(web.get("/", JSON, Action="ReceiveMessage", QueueUrl=queue.url, **{"AttributeName.1": "SenderId"}))
    (message,) = received["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"]
    assert (message["Body"], message["MessageAttributes"]) == ("é", None)
    assert message["Attributes"] == [{"Name": "SenderId", "Value": message["Attributes"][0]["Value"]}]
    again = _json(web.get("/", JSON, Action="ReceiveMessage", QueueUrl=queue.url))
    assert again["ReceiveMessageResponse"]["ReceiveMessageResult"] == {"messages": None}
    handle = message["ReceiptHandle"]
    deleted = _json(web.post("/", JSON, Action="DeleteMessage", QueueUrl=queue.url, ReceiptHandle=handle))
    assert deleted.keys() == {"DeleteMessageResponse"}
    assert deleted["DeleteMessageResponse"].keys() == {"ResponseMetadata"}
    listed = _json(web.get("/", JSON, Action="ListQueues", QueueNamePrefix=queue.name))
    assert listed["ListQueuesResponse"]["ListQueuesResult"] == {"NextToken": None, "queueUrls": [queue.url]}
    told = _json(web.get("/", JSON, Action="GetQueueAttributes", QueueUrl=queue.url, **{"AttributeName.1": "QueueArn"}))
    attributes = told["GetQueueAttributesResponse"]["GetQueueAttributesResult"]["Attributes"]
    assert attributes == [{"Name": "QueueArn", "Value": queue.arn}]


def test_faults_of_query_that_accepts_json(web: Web) -> None:
    reply = web.get("/", JSON, Action="Fly")
    assert reply.status == 400
    told = _json(reply)
    assert told.pop("RequestId")
    error = {
        "Type": "Sender",
        "Code": "InvalidAction",
        "Message": "The action Fly is not valid for this endpoint.",
    }
    assert told == {"Error": error}
    reply = web.get("/", JSON, Action="GetQueueUrl", QueueName="none")
    assert _json(reply)["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize("accept", ["text/xml", "*/*", "application/xml"])
def test_others_get_xml(web: Web, accept: str) -> None:
    assert web.get("/", {"Accept": accept}, Action="ListQueues").headers["content-type"] == "text/xml"


@pytest.mark.parametrize("headers", [{}, JSON])
def test_signature_parameters_alone_are_no_operation(web: Web, headers: dict[str, str]) -> None:
    signing = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Date": "20260203T040506Z", "X-Amz-Signature": "0"}
    old = {"AWSAccessKeyId": "a", "Signature": "b", "SignatureVersion": "2", "Timestamp": "2026-02-03T04:05:06Z"}
    for parameters in ({}, signing, old):
        reply = web.get("/", headers, **parameters)
        assert (reply.status, reply.text) == (404, "<UnknownOperationException/>")
        assert reply.headers["content-type"] == "text/xml"
    assert "MissingAction" in web.get("/", {}, QueueName="x", **signing).text
