"""AWS Query: form-encoded requests and XML replies, what older SDKs and curl speak."""

from rockdove.core import errors
from rockdove.core.errors import (
    Fault,
    InvalidAction,
    MissingAction,
    NoSuchVersion,
    QueueDoesNotExist,
    UnknownOperation,
)
from rockdove.wire import form, xml
from rockdove.wire.builder import build
from rockdove.wire.member import structure
from rockdove.wire.operation import ACTIONS, Operation
from rockdove.wire.shape import Request, Result

# Of the API of SQS, which is meant where none is named, and of that of SNS.
VERSION, TOPICS_VERSION = "2012-11-05", "2010-03-31"
_HEAD = '<?xml version="1.0"?>'
_NAMESPACE = f'xmlns="http://queue.amazonaws.com/doc/{VERSION}/"'
_TOPICS_NAMESPACE = f'xmlns="http://sns.amazonaws.com/doc/{TOPICS_VERSION}/"'

# SQS does not take these at the address of a queue.
_OF_THE_ACCOUNT = frozenset(("CreateQueue", "ListQueues"))

# Where SQS's text is another one than in AWS JSON.
_TEXTS: dict[type[Fault], str] = {
    QueueDoesNotExist: "The specified queue does not exist for this wsdl version.",
}

# What SNS calls faults that SQS has, too.
_TOPIC_CODES: dict[type[Fault], str] = {
    errors.AccessDenied: "AuthorizationError",
    errors.BatchEntryIdsNotDistinct: "BatchEntryIdsNotDistinct",
    errors.BatchRequestTooLong: "BatchRequestTooLong",
    errors.EmptyBatchRequest: "EmptyBatchRequest",
    errors.InternalFailure: "InternalError",
    errors.InvalidBatchEntryId: "InvalidBatchEntryId",
    errors.InvalidMessageContents: "InvalidParameter",
    errors.InvalidParameterValue: "InvalidParameter",
    errors.MalformedInput: "InvalidParameter",
    errors.MissingParameter: "InvalidParameter",
    errors.OverLimit: "InvalidParameter",
    errors.ResourceNotFound: "ResourceNotFound",
    errors.Throttling: "Throttled",
    errors.TooManyEntriesInBatchRequest: "TooManyEntriesInBatchRequest",
}

# Of signatures before version 4.
_VERSION_2 = frozenset(
    ("AWSAccessKeyId", "Expires", "SecurityToken", "Signature", "SignatureMethod", "SignatureVersion", "Timestamp")
)


Parameters = dict[str, str]


def operation(target_path: str, query: bytes, body: bytes) -> tuple[Operation, Parameters]:
    """What is asked for. ``QueueUrl`` may also be the path ``/ACCOUNT/NAME`` of the request: then it is that path.

    Of a parameter in both places the one in the body counts.
    """
    parameters = form.parse(query) | form.parse(body)
    path = target_path.rstrip("/")
    of_a_queue = path.count("/") == 2
    found = _operation(parameters, of_a_queue)
    if of_a_queue and "QueueUrl" in found.required:
        parameters.setdefault("QueueUrl", path)
    return found, parameters


def decode(operation: Operation, parameters: Parameters) -> Request:
    shape = structure(operation.request)
    return build(shape, form.unflatten(parameters, shape))


def _signs(name: str) -> bool:
    return name.startswith("X-Amz-") or name in _VERSION_2


def _operation(parameters: dict[str, str], of_a_queue: bool) -> Operation:
    action = parameters.get("Action")
    if action is None:
        # What signs a request says nothing of what it is for.
        raise UnknownOperation() if all(map(_signs, parameters)) else MissingAction()
    actions = ACTIONS.get(parameters.get("Version", VERSION))
    if actions is None:
        raise NoSuchVersion()
    operation = actions.get(action)
    if operation is None or (of_a_queue and action in _OF_THE_ACCOUNT):
        raise InvalidAction(f"The action {action} is not valid for this endpoint.")
    return operation


def encode(operation: Operation, result: Result | None, request_id: str) -> bytes:
    name = operation.action
    namespace = _TOPICS_NAMESPACE if operation.is_of_topics else _NAMESPACE
    content = "" if result is None else xml.element(f"{name}Result", xml.members(result))
    metadata = xml.element("ResponseMetadata", xml.element("RequestId", xml.escape(request_id)))
    return f"{_HEAD}<{name}Response {namespace}>{content}{metadata}</{name}Response>".encode()


def fault(f: Fault, request_id: str, operation: Operation | None = None) -> tuple[int, bytes]:
    """The status and the body. ``operation``: what was asked for, where that is known."""
    if isinstance(f, UnknownOperation):
        return 404, f"<{f.shape}/>".encode()
    error = (
        xml.element("Type", "Sender" if f.sender else "Receiver")
        + xml.element("Code", code(f, operation))
        + xml.element("Message", xml.escape(message(f)))
        + "<Detail/>"
    )
    content = xml.element("Error", error) + xml.element("RequestId", xml.escape(request_id))
    namespace = _TOPICS_NAMESPACE if operation is not None and operation.is_of_topics else _NAMESPACE
    return f.status, f"{_HEAD}<ErrorResponse {namespace}>{content}</ErrorResponse>".encode()


def code(f: Fault, operation: Operation | None) -> str:
    """What a fault of that operation is called."""
    return topic_code(f) if operation is not None and operation.is_of_topics else f.code


def topic_code(f: Fault) -> str:
    """What SNS calls a fault."""
    return _TOPIC_CODES.get(type(f), f.code)


def message(f: Fault) -> str:
    return _TEXTS.get(type(f), f.message) if f.message == f.text else f.message
