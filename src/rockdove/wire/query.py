"""AWS Query: form-encoded requests and XML replies, what older SDKs and curl speak."""

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
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import Request, Result

VERSION = "2012-11-05"
_HEAD = '<?xml version="1.0"?>'
_NAMESPACE = f'xmlns="http://queue.amazonaws.com/doc/{VERSION}/"'

# SQS does not take these at the address of a queue.
_OF_THE_ACCOUNT = frozenset(("CreateQueue", "ListQueues"))

# Where SQS's text is another one than in AWS JSON.
_TEXTS: dict[type[Fault], str] = {
    QueueDoesNotExist: "The specified queue does not exist for this wsdl version.",
}

# Of signatures before version 4.
_VERSION_2 = frozenset(
    ("AWSAccessKeyId", "Expires", "SecurityToken", "Signature", "SignatureMethod", "SignatureVersion", "Timestamp")
)


def decode(target_path: str, query: bytes, body: bytes) -> tuple[Operation, Request]:
    """``QueueUrl`` may also be the path ``/ACCOUNT/NAME`` of the request: then it is that path.

    Of a parameter in both places the one in the body counts.
    """
    parameters = form.parse(query) | form.parse(body)
    path = target_path.rstrip("/")
    of_a_queue = path.count("/") == 2
    operation = _operation(parameters, of_a_queue)
    if of_a_queue and "QueueUrl" in operation.required:
        parameters.setdefault("QueueUrl", path)
    shape = structure(operation.request)
    return operation, build(shape, form.unflatten(parameters, shape))


def _signs(name: str) -> bool:
    return name.startswith("X-Amz-") or name in _VERSION_2


def _operation(parameters: dict[str, str], of_a_queue: bool) -> Operation:
    action = parameters.get("Action")
    if action is None:
        # What signs a request says nothing of what it is for.
        raise UnknownOperation() if all(map(_signs, parameters)) else MissingAction()
    if parameters.get("Version", VERSION) != VERSION:
        raise NoSuchVersion()
    operation = OPERATIONS.get(action)
    if operation is None or operation.extension or (of_a_queue and action in _OF_THE_ACCOUNT):
        raise InvalidAction(f"The action {action} is not valid for this endpoint.")
    return operation


def encode(operation: Operation, result: Result | None, request_id: str) -> bytes:
    name = operation.name
    content = "" if result is None else xml.element(f"{name}Result", xml.members(result))
    metadata = xml.element("ResponseMetadata", xml.element("RequestId", xml.escape(request_id)))
    return f"{_HEAD}<{name}Response {_NAMESPACE}>{content}{metadata}</{name}Response>".encode()


def fault(f: Fault, request_id: str) -> tuple[int, bytes]:
    """The status and the body."""
    if isinstance(f, UnknownOperation):
        return 404, f"<{f.shape}/>".encode()
    error = (
        xml.element("Type", "Sender" if f.sender else "Receiver")
        + xml.element("Code", f.code)
        + xml.element("Message", xml.escape(message(f)))
        + "<Detail/>"
    )
    content = xml.element("Error", error) + xml.element("RequestId", xml.escape(request_id))
    return f.status, f"{_HEAD}<ErrorResponse {_NAMESPACE}>{content}</ErrorResponse>".encode()


def message(f: Fault) -> str:
    return _TEXTS.get(type(f), f.message) if f.message == f.text else f.message
