"""botocore as the oracle: its model of SQS, its serializers and its parsers, in both protocols."""

from copy import deepcopy
from functools import cache
from typing import Any
from urllib.parse import urlencode

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# The model speaks JSON only since 2023; this is what it said of Query before, as SQS documents it still.
LIST_NAMES = {
    "AWSAccountIdList": "AWSAccountId",
    "ActionNameList": "ActionName",
    "AttributeNameList": "AttributeName",
    "BatchResultErrorEntryList": "BatchResultErrorEntry",
    "ChangeMessageVisibilityBatchRequestEntryList": "ChangeMessageVisibilityBatchRequestEntry",
    "ChangeMessageVisibilityBatchResultEntryList": "ChangeMessageVisibilityBatchResultEntry",
    "DeleteMessageBatchRequestEntryList": "DeleteMessageBatchRequestEntry",
    "DeleteMessageBatchResultEntryList": "DeleteMessageBatchResultEntry",
    "ListMessageMoveTasksResultEntryList": "ListMessageMoveTasksResultEntry",
    "MessageAttributeNameList": "MessageAttributeName",
    "MessageList": "Message",
    "MessageSystemAttributeList": "MessageSystemAttributeName",
    "QueueUrlList": "QueueUrl",
    "SendMessageBatchRequestEntryList": "SendMessageBatchRequestEntry",
    "SendMessageBatchResultEntryList": "SendMessageBatchResultEntry",
    "TagKeyList": "TagKey",
}
MAP_NAMES = {
    "MessageBodyAttributeMap": ("MessageAttribute", "Name"),
    "MessageBodySystemAttributeMap": ("MessageSystemAttribute", "Name"),
    "MessageSystemAttributeMap": ("Attribute", "Name"),
    "QueueAttributeMap": ("Attribute", "Name"),
    "TagMap": ("Tag", "Key"),
}

# A busy machine is no defect of ours.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For what runs once for each operation.
brief = settings(patient, max_examples=20)

# In the model, but SQS does not take them.
NOT_IMPLEMENTED = {"StringListValues", "BinaryListValues"}

# Everything that XML, and therefore SQS, can carry.
xml_text = st.text(
    st.characters(
        exclude_categories=["Cs"], exclude_characters=[*map(chr, {*range(32)} - {9, 10, 13}), "\ufffe", "\uffff"]
    )
)


@cache
def model(protocol: str) -> ServiceModel:
    description = deepcopy(Loader().load_service_model("sqs", "service-2"))
    if protocol == "query":
        _make_query(description)
    return ServiceModel(description, "sqs")


def _make_query(description: dict[str, Any]) -> None:
    description["metadata"] |= {
        "protocol": "query",
        "protocols": ["query"],
        "xmlNamespace": "http://queue.amazonaws.com/doc/2012-11-05/",
    }
    shapes = description["shapes"]
    for name, flat in LIST_NAMES.items():
        shapes[name]["member"]["locationName"] = flat
    for name, (_, key) in MAP_NAMES.items():
        shapes[name]["key"]["locationName"] = key
        shapes[name]["value"]["locationName"] = "Value"
    for shape in shapes.values():
        for member in shape.get("members", {}).values():
            if member["shape"] in MAP_NAMES:
                member["locationName"] = MAP_NAMES[member["shape"]][0]
    for operation in description["operations"].values():
        if "output" in operation:
            operation["output"]["resultWrapper"] = operation["output"]["shape"]


def operation_names() -> list[str]:
    return list(model("json").operation_names)


def operation_model(protocol: str, name: str) -> OperationModel:
    return model(protocol).operation_model(name)


def serialize(protocol: str, name: str, params: dict[str, Any]) -> bytes:
    """The body that botocore would send."""
    request = create_serializer(protocol).serialize_to_request(params, operation_model(protocol, name))
    body = request["body"]
    return urlencode(body).encode() if isinstance(body, dict) else body


def parse(protocol: str, name: str, body: bytes) -> dict[str, Any]:
    """What botocore reads out of the body of a reply, the metadata included."""
    response = {"status_code": 200, "headers": {}, "body": body}
    parsed: dict[str, Any] = create_parser(protocol).parse(response, operation_model(protocol, name).output_shape)
    return parsed


def parse_error(protocol: str, name: str, status: int, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    response = {"status_code": status, "headers": headers, "body": body}
    parsed: dict[str, Any] = create_parser(protocol).parse(response, operation_model(protocol, name).output_shape)
    return parsed


def requests(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Any request that the model allows."""
    return _values(operation_model("json", name).input_shape, optional=True)


def results(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Results with all members there."""
    return _values(operation_model("json", name).output_shape, optional=False)


def _values(shape: Shape, optional: bool) -> st.SearchStrategy[Any]:
    match shape:
        case StructureShape():
            return _structures(shape, optional)
        case ListShape():
            return st.lists(_values(shape.member, optional), min_size=1, max_size=3)
        case MapShape():
            return st.dictionaries(xml_text, _values(shape.value, optional), min_size=1, max_size=3)
        case _:
            return _scalars(shape.type_name)


def _structures(shape: StructureShape, optional: bool) -> st.SearchStrategy[dict[str, Any]]:
    members = {name: _values(one, optional) for name, one in shape.members.items() if name not in NOT_IMPLEMENTED}
    if "DataType" in members:
        members["DataType"] = xml_text.filter(bool)
    required = {name: one for name, one in members.items() if name in shape.required_members or not optional}
    return st.fixed_dictionaries(
        required, optional={name: one for name, one in members.items() if name not in required}
    )


def _scalars(type_name: str) -> st.SearchStrategy[Any]:
    return {
        "string": xml_text,
        "integer": st.integers(-(2**31), 2**31 - 1),
        "long": st.integers(-(2**63), 2**63 - 1),
        "boolean": st.booleans(),
        "blob": st.binary(max_size=40),
    }[type_name]
