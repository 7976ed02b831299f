"""Messages over plain HTTP, for devices and scripts that cannot sign: requests that SQS's operations carry out."""

from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from rockdove.core.errors import (
    Fault,
    IncompleteSignature,
    InvalidClientTokenId,
    InvalidMessageContents,
    InvalidParameterValue,
    MethodNotAllowed,
    MissingAuthenticationToken,
    MissingParameter,
    QueueDoesNotExist,
    SignatureDoesNotMatch,
    Throttling,
    UnknownPath,
)
from rockdove.wire import form
from rockdove.wire.awsjson import encode
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import DeleteMessage, ReceiveMessage, ReceiveMessageResult, Request, Result, SendMessage

PREFIX = b"/v1/"
KIND = b"application/json"
_MESSAGES = "messages"
# What each method takes in the query.
_SEND = frozenset(("account", "delay", "group", "dedup"))
_RECEIVE = frozenset(("account", "max", "wait", "visibility"))
_DELETE = frozenset(("account",))
_ALL = ["All"]
# Where HTTP has a word of its own for a fault.
_STATUSES: dict[type[Fault], int] = {
    QueueDoesNotExist: 404,
    InvalidClientTokenId: 401,
    MissingAuthenticationToken: 401,
    IncompleteSignature: 401,
    SignatureDoesNotMatch: 401,
    Throttling: 429,
}
_ENCODE = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """``extra`` are more lines of the head."""

    status: int
    body: bytes
    extra: bytes = b""


def read(method: bytes, path: bytes, query: bytes, body: bytes) -> tuple[Operation, Request]:
    """Raises the fault of a request that is none."""
    queue, handle = _place(path)
    parameters = form.parse(query)
    if handle is not None:
        _check(method, (b"DELETE",))
        url = _url(queue, _known(parameters, _DELETE))
        return OPERATIONS["DeleteMessage"], DeleteMessage(queue_url=url, receipt_handle=handle)
    _check(method, (b"POST", b"GET"))
    if method == b"GET":
        url = _url(queue, _known(parameters, _RECEIVE))
        request = ReceiveMessage(
            queue_url=url,
            max_number_of_messages=_number(parameters, "max"),
            wait_time_seconds=_number(parameters, "wait"),
            visibility_timeout=_number(parameters, "visibility"),
            message_attribute_names=_ALL,
            message_system_attribute_names=_ALL,
        )
        return OPERATIONS["ReceiveMessage"], request
    url = _url(queue, _known(parameters, _SEND))
    if not body:
        raise MissingParameter("The body of the request is the message, and there is none.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise InvalidMessageContents("The body of the request is the message: it must be text in UTF-8.") from None
    send = SendMessage(
        queue_url=url,
        message_body=text,
        delay_seconds=_number(parameters, "delay"),
        message_group_id=parameters.get("group"),
        message_deduplication_id=parameters.get("dedup"),
    )
    return OPERATIONS["SendMessage"], send


def answer(operation: Operation, result: Result | None) -> Answer:
    if isinstance(result, ReceiveMessageResult):
        return Answer(200, encode(result) if result.messages else b'{"Messages":[]}')
    return Answer(200, b"{}") if result is None else Answer(201, encode(result))


def fault(f: Fault) -> Answer:
    status = _STATUSES.get(type(f), f.status)
    extra = b"WWW-Authenticate: Bearer\r\n" if status == 401 else b""
    if isinstance(f, MethodNotAllowed):
        extra = b"Allow: " + f.message.rpartition(" ")[2].rstrip(".").encode() + b"\r\n"
    code = f.code.removeprefix("AWS.SimpleQueueService.")
    return Answer(status, _ENCODE({"Error": {"Code": code, "Message": f.message}}), extra)


def _place(path: bytes) -> tuple[str, str | None]:
    """The name of a queue, and the handle of a message of it, if there is one."""
    parts = [unquote(part, encoding="utf-8", errors="replace") for part in path.decode("latin-1").split("/")[2:]]
    match parts:
        case ["queues", name, word] if word == _MESSAGES and name:
            return name, None
        case ["queues", name, word, *handle] if word == _MESSAGES and name and any(handle):
            # A handle may have slashes, which need not be escaped.
            return name, "/".join(handle)
        case _:
            raise UnknownPath(
                "There is no such path. Messages are at /v1/queues/QUEUE/messages, and one that was received at "
                "/v1/queues/QUEUE/messages/RECEIPT-HANDLE."
            )


def _check(method: bytes, allowed: tuple[bytes, ...]) -> None:
    if method not in allowed:
        raise MethodNotAllowed(f"At this path a request can be {','.join(each.decode() for each in allowed)}.")


def _known(parameters: dict[str, str], known: frozenset[str]) -> dict[str, str]:
    for name in parameters:
        if name not in known:
            raise InvalidParameterValue(
                f"There is no parameter {name[:64]} here; those there are: {', '.join(sorted(known))}."
            )
    return parameters


def _url(queue: str, parameters: dict[str, str]) -> str:
    if "/" in queue:
        raise QueueDoesNotExist()
    account = parameters.get("account")
    return queue if account is None else f"/{account}/{queue}"


def _number(parameters: dict[str, str], name: str) -> int | None:
    text = parameters.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidParameterValue(f"Value {text[:64]} for parameter {name} is invalid. Reason: Must be a number.")
    return int(text)
