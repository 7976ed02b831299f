"""The structs against botocore's model: same names, same kinds, same members required."""

from typing import Any

import pytest
from botocore.model import ListShape, MapShape, StructureShape

from rockdove.wire.member import Listing, Mapping, Scalar, Shape, Structure, structure
from rockdove.wire.operation import OPERATIONS, SQS
from tests.unit.wire.oracle import LIST_NAMES, MAP_NAMES, NOT_IMPLEMENTED, operation_model, operation_names

KINDS = {"string": "String", "integer": "Integer", "long": "Integer", "boolean": "Boolean", "blob": "Blob"}


def ours(shape: Shape) -> Any:
    match shape:
        case Scalar(kind=kind):
            return kind
        case Listing(element=element):
            return [ours(element)]
        case Mapping(element=element, key=key):
            return {key: ours(element)}
        case Structure(members=members):
            return {(member.name, member.flat): ours(member.shape) for member in members}


def theirs(shape: Any) -> Any:
    match shape:
        case ListShape():
            return [theirs(shape.member)]
        case MapShape():
            return {MAP_NAMES[shape.name][1]: theirs(shape.value)}
        case StructureShape():
            members = {name: one for name, one in shape.members.items() if name not in NOT_IMPLEMENTED}
            return {(name, flat(name, one)): theirs(one) for name, one in members.items()}
        case _:
            return KINDS[shape.type_name]


def flat(name: str, shape: Any) -> str:
    if shape.name in LIST_NAMES:
        return LIST_NAMES[shape.name]
    return MAP_NAMES[shape.name][0] if shape.name in MAP_NAMES else name


def test_all_operations_are_there() -> None:
    assert {name for name, operation in OPERATIONS.items() if operation.service == SQS} == set(operation_names())
    assert {name for name, operation in OPERATIONS.items() if operation.extension} == {
        "Peek",
        "Receive",
        "DescribePhysicalQueues",
        "SetPhysicalQueue",
        "PutElasticState",
        "GetElasticState",
        "SetElasticControl",
        "LeaseBatch",
        "AckThrough",
        "ReleaseConsumer",
        "ListLeases",
        "PublishOnce",
        "StageBatch",
        "PublishBatch",
        "AbortBatch",
        "GetFigures",
        "GetServiceFigures",
        "SignIn",
        "RenewSession",
        "AddAccount",
        "ListAccounts",
        "SetAccountPassword",
        "RotateAccountKey",
        "FinishAccountRotation",
        "AddAccountToken",
        "RemoveAccountToken",
        "SetAccountState",
        "RemoveAccount",
    }


@pytest.mark.parametrize("name", operation_names())
def test_requests_are_those_of_the_model(name: str) -> None:
    model = operation_model("json", name).input_shape
    assert ours(structure(OPERATIONS[name].request)) == theirs(model)
    # A batch without entries has a fault of its own.
    assert {*OPERATIONS[name].required} == {*model.required_members} - {"Entries"}


@pytest.mark.parametrize("name", operation_names())
def test_results_are_those_of_the_model(name: str) -> None:
    model = operation_model("json", name).output_shape
    result = OPERATIONS[name].result
    assert (result is None) == (model is None)
    if result is not None:
        assert ours(structure(result)) == theirs(model)


def test_receive_is_receive_message() -> None:
    ours_of_it = OPERATIONS["Receive"]
    of_sqs = OPERATIONS["ReceiveMessage"]
    assert ours(structure(ours_of_it.request)) == ours(structure(of_sqs.request))
    assert of_sqs.result is not None
    assert ours_of_it.result is not None
    assert ours(structure(ours_of_it.result)) == ours(structure(of_sqs.result))


def test_peeked_messages_have_no_handle_but_a_state() -> None:
    def names(operation: str) -> set[str]:
        result = OPERATIONS[operation].result
        assert result is not None
        (messages,) = [member for member in structure(result).members if member.name == "Messages"]
        assert isinstance(messages.shape, Listing)
        assert isinstance(messages.shape.element, Structure)
        return {member.name for member in messages.shape.element.members}

    more = {"State", "VisibleFrom", "PhysicalQueue"}
    assert names("Peek") == (names("ReceiveMessage") - {"ReceiptHandle"}) | more
