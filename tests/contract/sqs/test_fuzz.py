"""Any request that AWS's model allows gets an answer that botocore can read, and never a 500."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.sqs.conftest import NewName
from tests.support.raw import Web
from tests.support.service import Services
from tests.unit.wire.oracle import brief, model, operation_names, parse, parse_error, requests, serialize

ATTRIBUTE_NAMES = [name for name in model("json").shape_for("QueueAttributeName").enum if name != "All"]
SYSTEM_NAMES = model("json").shape_for("MessageSystemAttributeName").enum


@st.composite
def plausible(draw: st.DrawFn, operation: str, url: str) -> dict[str, Any]:
    """A request in which some things are right, so that it comes further than the first check."""
    request: dict[str, Any] = draw(requests(operation))
    if "QueueUrl" in request and operation != "DeleteQueue":
        request["QueueUrl"] = draw(st.sampled_from([url, url, url, request["QueueUrl"]]))
    if "QueueName" in request:
        request["QueueName"] = draw(
            st.sampled_from(["fuzz", "fuzz.fifo", url.rpartition("/")[2], request["QueueName"]])
        )
    if "WaitTimeSeconds" in request:
        request["WaitTimeSeconds"] = draw(st.sampled_from([0, -1, 21]))
    if "Attributes" in request:
        values = st.one_of(st.integers(-1, 2**20).map(str), st.sampled_from(["true", "false", "", "{}", "queue"]))
        request["Attributes"] = draw(st.dictionaries(st.sampled_from(ATTRIBUTE_NAMES), values, max_size=4))
    for names in ("AttributeNames", "MessageSystemAttributeNames"):
        if names in request:
            known = ATTRIBUTE_NAMES if operation == "GetQueueAttributes" else SYSTEM_NAMES
            request[names] = draw(st.lists(st.sampled_from([*known, "x"]), max_size=3))
    return request


@pytest.mark.parametrize("operation", operation_names())
@pytest.mark.parametrize("protocol_of_wire", ["json", "query"])
def test_every_answer_can_be_read(services: Services, operation: str, protocol_of_wire: str, new_name: NewName) -> None:
    web = Web(services.shared("memory").port)
    url = web.create(new_name())

    @brief
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        params = data.draw(plausible(operation, url))
        body = serialize(protocol_of_wire, operation, params)
        reply = web.call(operation, body) if protocol_of_wire == "json" else web.request("POST", "/", body)
        assert reply.status in (200, 400, 403, 404), (params, reply)
        if reply.status == 200:
            parse(protocol_of_wire, operation, reply.body)
        else:
            fault = parse_error(protocol_of_wire, operation, reply.status, dict(reply.headers), reply.body)
            assert fault["Error"]["Code"]

    check()
    web.close()
