"""AWS Query without an SDK: GET and POST, on `/` and on the queue's path, and the XML that comes back."""

from collections.abc import Callable
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree

import pytest

from tests.contract.sqs.conftest import NewName
from tests.support.digest import attributes_md5
from tests.support.raw import Reply, Web

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"

Ask = Callable[..., Reply]


@pytest.fixture(params=["GET", "POST"])
def ask(request: pytest.FixtureRequest, web: Web) -> Ask:
    """A request with these parameters, by either method."""
    return web.get if request.param == "GET" else web.post


def _path(url: str) -> str:
    return urlsplit(url).path


def _tree(reply: Reply, action: str) -> ElementTree.Element:
    """Checks the frame of an answer."""
    assert reply.status == 200, reply
    assert reply.headers["content-type"].startswith("text/xml")
    tree = ElementTree.fromstring(reply.body)
    assert tree.tag == f"{NAMESPACE}{action}Response"
    request_id = tree.findtext(f"{NAMESPACE}ResponseMetadata/{NAMESPACE}RequestId")
    assert request_id == reply.headers["x-amzn-requestid"]
    return tree


def _texts(tree: ElementTree.Element, name: str) -> list[str]:
    return [one.text or "" for one in tree.iter(f"{NAMESPACE}{name}")]


def test_a_life_on_the_root_path(ask: Ask, new_name: NewName, service: object) -> None:
    name = new_name()
    [url] = _texts(
        _tree(ask("/", Action="CreateQueue", QueueName=name, Version="2012-11-05"), "CreateQueue"), "QueueUrl"
    )
    assert url.endswith(f"/000000000000/{name}")
    sent = _tree(ask("/", Action="SendMessage", QueueUrl=url, MessageBody="a body"), "SendMessage")
    message = _tree(ask("/", Action="ReceiveMessage", QueueUrl=url), "ReceiveMessage")
    assert _texts(message, "Body") == ["a body"]
    assert _texts(message, "MessageId") == _texts(sent, "MessageId")
    assert _texts(message, "MD5OfBody") == _texts(sent, "MD5OfMessageBody")
    [handle] = _texts(message, "ReceiptHandle")
    change = {"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": "0"}
    _tree(ask("/", Action="ChangeMessageVisibility", **change), "ChangeMessageVisibility")
    [handle] = _texts(_tree(ask("/", Action="ReceiveMessage", QueueUrl=url), "ReceiveMessage"), "ReceiptHandle")
    _tree(ask("/", Action="DeleteMessage", QueueUrl=url, ReceiptHandle=handle), "DeleteMessage")
    _tree(ask("/", Action="DeleteQueue", QueueUrl=url), "DeleteQueue")


def test_a_life_on_the_queues_path(ask: Ask, url: str) -> None:
    path = _path(url)
    _tree(ask(path, Action="SendMessage", MessageBody="a body"), "SendMessage")
    message = _tree(ask(path, Action="ReceiveMessage"), "ReceiveMessage")
    assert _texts(message, "Body") == ["a body"]
    [handle] = _texts(message, "ReceiptHandle")
    _tree(ask(path, Action="DeleteMessage", ReceiptHandle=handle), "DeleteMessage")
    tree = _tree(ask(path, **{"Action": "GetQueueAttributes", "AttributeName.1": "All"}), "GetQueueAttributes")
    attributes = dict(zip(_texts(tree, "Name"), _texts(tree, "Value"), strict=True))
    assert attributes["ApproximateNumberOfMessages"] == "0"
    assert attributes["QueueArn"].endswith(url.rpartition("/")[2])
    _tree(ask(path, Action="PurgeQueue"), "PurgeQueue")
    _tree(ask(path, Action="DeleteQueue"), "DeleteQueue")
    assert "NonExistentQueue" in ask(path, Action="SendMessage", MessageBody="late").text


def test_an_empty_receive_is_an_empty_element(ask: Ask, url: str) -> None:
    reply = ask(_path(url), Action="ReceiveMessage")
    assert "<ReceiveMessageResult/>" in reply.text.replace(" />", "/>")


def test_a_trailing_slash_and_an_escaped_path_do_no_harm(ask: Ask, url: str) -> None:
    path = _path(url)
    for one in (f"{path}/", path.replace("q-", "%71-"), path.replace("q-", quote("q-"))):
        _tree(ask(one, Action="ReceiveMessage"), "ReceiveMessage")


def test_a_url_in_the_parameters_comes_before_the_path(web: Web, new_name: NewName) -> None:
    """Recorded from SQS."""
    first, second = web.create(new_name()), web.create(new_name())
    parameters = {"Action": "GetQueueAttributes", "AttributeName.1": "QueueArn", "QueueUrl": second}
    [arn] = _texts(_tree(web.get(_path(first), **parameters), "GetQueueAttributes"), "Value")
    assert arn.endswith(second.rpartition("/")[2])


@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
def test_what_is_not_of_a_queue_is_refused_on_its_path(ask: Ask, url: str, action: str) -> None:
    """Recorded from SQS."""
    reply = ask(_path(url), Action=action, QueueName="other")
    assert reply.status == 400
    assert (
        f"<Code>InvalidAction</Code><Message>The action {action} is not valid for this endpoint.</Message>"
        in reply.text
    )


def test_any_queues_url_can_be_asked_for_on_a_queues_path(ask: Ask, web: Web, url: str, new_name: NewName) -> None:
    """Recorded from SQS."""
    other = web.create(new_name())
    for one in (url, other):
        [found] = _texts(
            _tree(ask(_path(url), Action="GetQueueUrl", QueueName=one.rpartition("/")[2]), "GetQueueUrl"), "QueueUrl"
        )
        assert found == one


def test_a_get_without_parameters_is_no_operation(web: Web, url: str) -> None:
    """Recorded from SQS."""
    for path in ("/", _path(url)):
        reply = web.get(path)
        assert (reply.status, "<UnknownOperationException" in reply.text) == (404, True)


def test_parameters_without_an_action(ask: Ask) -> None:
    reply = ask("/", QueueName="x")
    assert (reply.status, "<Code>MissingAction</Code>" in reply.text) == (400, True)


def test_the_version_is_known_or_left_out(ask: Ask) -> None:
    prefix = "no-queue-begins-like-this"
    for version in ({"Version": "2012-11-05"}, {}):
        assert ask("/", Action="ListQueues", QueueNamePrefix=prefix, **version).status == 200
    reply = ask("/", Action="ListQueues", Version="2001-01-01")
    assert (reply.status, "<Code>NoSuchVersion</Code>" in reply.text) == (400, True)


def test_actions_are_case_sensitive(ask: Ask) -> None:
    assert "InvalidAction" in ask("/", Action="listqueues").text


def test_a_missing_parameter_is_named(ask: Ask, url: str) -> None:
    reply = ask(_path(url), Action="SendMessage")
    assert reply.status == 400
    text = "<Code>MissingParameter</Code><Message>The request must contain the parameter MessageBody.</Message>"
    assert text in reply.text
    assert "parameter QueueUrl." in ask("/", Action="SendMessage", MessageBody="x").text


def test_a_number_that_is_none(ask: Ask, url: str) -> None:
    for value in ("x", "1.5", "", "99999999999", " 1"):
        reply = ask(_path(url), Action="SendMessage", MessageBody="x", DelaySeconds=value)
        assert reply.status == 400, value


def test_attributes_are_numbered(ask: Ask, new_name: NewName) -> None:
    parameters = {
        "Attribute.1.Name": "VisibilityTimeout",
        "Attribute.1.Value": "7",
        "Attribute.2.Name": "DelaySeconds",
        "Attribute.2.Value": "3",
        "Tag.1.Key": "owner",
        "Tag.1.Value": "me",
    }
    [url] = _texts(_tree(ask("/", Action="CreateQueue", QueueName=new_name(), **parameters), "CreateQueue"), "QueueUrl")
    names = {"AttributeName.1": "VisibilityTimeout", "AttributeName.2": "DelaySeconds"}
    tree = _tree(ask(_path(url), Action="GetQueueAttributes", **names), "GetQueueAttributes")
    assert dict(zip(_texts(tree, "Name"), _texts(tree, "Value"), strict=True)) == {
        "VisibilityTimeout": "7",
        "DelaySeconds": "3",
    }
    tags = _tree(ask(_path(url), Action="ListQueueTags"), "ListQueueTags")
    assert (_texts(tags, "Key"), _texts(tags, "Value")) == (["owner"], ["me"])


def test_message_attributes_are_numbered(ask: Ask, url: str) -> None:
    parameters = {
        "MessageAttribute.1.Name": "text",
        "MessageAttribute.1.Value.DataType": "String",
        "MessageAttribute.1.Value.StringValue": "a & b <c>",
        "MessageAttribute.2.Name": "data",
        "MessageAttribute.2.Value.DataType": "Binary",
        "MessageAttribute.2.Value.BinaryValue": "AP8=",
    }
    digest = attributes_md5(
        {
            "text": {"DataType": "String", "StringValue": "a & b <c>"},
            "data": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        }
    )
    sent = _tree(ask(_path(url), Action="SendMessage", MessageBody="x", **parameters), "SendMessage")
    assert _texts(sent, "MD5OfMessageAttributes") == [digest]
    wanted = {"MessageAttributeName.1": "All", "AttributeName.1": "SenderId"}
    message = _tree(ask(_path(url), Action="ReceiveMessage", **wanted), "ReceiveMessage")
    assert _texts(message, "MD5OfMessageAttributes") == [digest]
    assert sorted(_texts(message, "Name")) == ["SenderId", "data", "text"]
    assert (_texts(message, "StringValue"), _texts(message, "BinaryValue")) == (["a & b <c>"], ["AP8="])


def test_batches_are_numbered(ask: Ask, url: str) -> None:
    entry = "SendMessageBatchRequestEntry"
    parameters = {
        f"{entry}.1.Id": "one",
        f"{entry}.1.MessageBody": "first",
        f"{entry}.2.Id": "two",
        f"{entry}.2.MessageBody": "second",
        f"{entry}.3.Id": "bad",
        f"{entry}.3.MessageBody": "third",
        f"{entry}.3.DelaySeconds": "901",
    }
    tree = _tree(ask(_path(url), Action="SendMessageBatch", **parameters), "SendMessageBatch")
    results = [*tree.iter(f"{NAMESPACE}SendMessageBatchResultEntry")]
    assert [one.findtext(f"{NAMESPACE}Id") for one in results] == ["one", "two"]
    [error] = tree.iter(f"{NAMESPACE}BatchResultErrorEntry")
    assert (error.findtext(f"{NAMESPACE}Id"), error.findtext(f"{NAMESPACE}SenderFault")) == ("bad", "true")


def test_text_survives_the_form(web: Web, url: str) -> None:
    body = "a+b c%20&=;\"<>'\t\r\n ä😀"
    for send in (web.get, web.post):
        assert send(_path(url), Action="SendMessage", MessageBody=body).status == 200
    message = _tree(web.get(_path(url), Action="ReceiveMessage", MaxNumberOfMessages="10"), "ReceiveMessage")
    assert _texts(message, "Body") == [body, body]


def test_parameters_in_the_url_of_a_post(web: Web, url: str) -> None:
    query = urlencode({"Action": "SendMessage", "Version": "2012-11-05"})
    reply = web.request("POST", f"{_path(url)}?{query}", urlencode({"MessageBody": "x"}).encode())
    _tree(reply, "SendMessage")


@pytest.mark.parametrize(
    "query", ["%", "%zz", "Action=%ff", "a=%", "Action=ListQueues&x=%e4", "&&&", "=", "Action", "%00=1", "a" * 5000]
)
def test_query_strings_that_are_none(web: Web, query: str) -> None:
    for reply in (web.request("GET", f"/?{query}"), web.request("POST", "/", query.encode())):
        assert reply.status in (400, 404), reply


@pytest.mark.parametrize(
    "names",
    [
        ["Attribute.1.Name"],
        ["Attribute.1.Value"],
        ["Attribute"],
        ["Attribute.x.Name", "Attribute.x.Value"],
        ["Attribute.1", "Attribute.1.Name", "Attribute.1.Value"],
        ["Attribute.1.Name.x", "Attribute.1.Value"],
        ["Attribute.99999999999.Name", "Attribute.99999999999.Value"],
        ["Attribute.-1.Name", "Attribute.-1.Value"],
        ["Attribute.1.1.1.1.1.1.1.1.1.1.1.1"],
        ["Attribute..Name", "Attribute..Value"],
    ],
    ids=str,
)
def test_numbers_of_parameters_that_are_none(ask: Ask, url: str, names: list[str]) -> None:
    parameters = dict.fromkeys(names, "DelaySeconds")
    assert ask(_path(url), Action="SetQueueAttributes", **parameters).status == 400
