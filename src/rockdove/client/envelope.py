"""Requests as HTTP, and HTTP answers as results or faults: what the sync and the async client have in common."""

import os

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rockdove.client.credential import AnyCredentials, Basic, Bearer, environment_credentials
from rockdove.client.endpoint import Endpoint
from rockdove.client.error import UnexpectedAnswer
from rockdove.client.fault import read_fault
from rockdove.core.errors import RequestTooLarge
from rockdove.core.limits import MAX_WAIT_S
from rockdove.wire.lease import LeaseBatch
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import ReceiveMessage, Request, Result
from rockdove.wire.signature import Credentials, sign

_CONTENT_TYPE = "application/x-amz-json-1.0"
_DEFAULT_REGION = "us-east-1"
# A service hangs up on a larger request while it is being sent, and its answer may then get lost; the largest message
# in its most wasteful encoding is smaller.
MAX_REQUEST_BYTES = 8 * 1024 * 1024

_encode = msgspec.json.Encoder().encode
_DECODERS = {
    name: msgspec.json.Decoder(operation.result).decode
    for name, operation in OPERATIONS.items()
    if operation.result is not None
}
_TARGETS = {name: operation.target for name, operation in OPERATIONS.items()}


class Reply(Struct, gc=False):
    """An HTTP answer. ``query_error`` is its header ``x-amzn-query-error``."""

    status: int
    query_error: str | None
    body: bytes


class Envelope:
    """Knows where requests go and who signs them."""

    def __init__(
        self, endpoint: Endpoint, region: str | None, credentials: AnyCredentials | None, timeout_s: float
    ) -> None:
        self.endpoint = endpoint
        self._region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
        self._credentials = credentials or environment_credentials()
        self._timeout_s = timeout_s

    def write(self, request: Request) -> tuple[dict[str, str], bytes]:
        """The headers and the body of a POST. Raises `RequestTooLarge`."""
        body = _encode(request)
        if len(body) > MAX_REQUEST_BYTES:
            raise RequestTooLarge(f"The request must be at most {MAX_REQUEST_BYTES} bytes long.")
        headers = {
            "Host": self.endpoint.authority,
            "Content-Type": _CONTENT_TYPE,
            "X-Amz-Target": _TARGETS[type(request).__name__],
        }
        if isinstance(self._credentials, Credentials):
            headers |= sign(self._credentials, self._region, "POST", self.endpoint.path, headers, body)
        elif isinstance(self._credentials, Basic | Bearer):
            headers["Authorization"] = self._credentials.header
        return headers, body

    def timeout_s(self, request: Request) -> float:
        """How long to wait for the answer: a long poll's wait comes on top (the queue's, if the receive names none)."""
        if isinstance(request, LeaseBatch):
            return self._timeout_s + (request.wait_time_seconds or 0)
        if not isinstance(request, ReceiveMessage):
            return self._timeout_s
        wait_s = MAX_WAIT_S if request.wait_time_seconds is None else request.wait_time_seconds
        return self._timeout_s + wait_s

    def read(self, request: Request, reply: Reply) -> Result | None:
        """The result. Raises the service's fault, or `UnexpectedAnswer`."""
        if reply.status != 200:
            fault = read_fault(reply.status, reply.query_error, reply.body)
            raise fault or UnexpectedAnswer(self.endpoint.url, f"with HTTP status {reply.status}", reply.status)
        decode = _DECODERS.get(type(request).__name__)
        if decode is None:
            return None
        try:
            return decode(reply.body)
        except msgspec.DecodeError as error:
            raise UnexpectedAnswer(self.endpoint.url, f"with something else than a result ({error})") from None


def shortened(request: Request, elapsed_s: float) -> Request:
    """A receive that is asked again waits only for what is left of its time."""
    if isinstance(request, ReceiveMessage | LeaseBatch) and request.wait_time_seconds:
        return replace(request, wait_time_seconds=max(0, request.wait_time_seconds - int(elapsed_s)))
    return request
