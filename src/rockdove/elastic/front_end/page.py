"""What a front-end says of itself: whether it is ready, and of its metrics those that scaling needs."""

import http.client
import re
from urllib.parse import urlsplit

from msgspec import Struct

# Seconds for an answer; who takes longer is as good as silent.
READY_S, METRICS_S = 2.0, 5.0
# They may be held until there is a message: how long they take says nothing of the front-end.
HELD = frozenset(("ReceiveMessage", "Receive", "LeaseBatch"))

_REQUESTS = re.compile(r'^rockdove_request_seconds_(count|sum)\{operation="(\w+)"\} (\S+)$', re.MULTILINE)
_FIGURE = re.compile(r"^(rockdove_connections|rockdove_long_polls|rockdove_store_bytes) (\S+)$", re.MULTILINE)


class Reading(Struct, frozen=True):
    """``requests``, ``seconds``: since it began, of those that are not held. ``storage_bytes``: of the whole store."""

    requests: int
    seconds: float
    connections: int
    long_polls: int
    storage_bytes: float | None = None


def parse(text: str) -> Reading:
    requests, seconds = 0.0, 0.0
    for what, operation, value in _REQUESTS.findall(text):
        if operation in HELD:
            continue
        if what == "count":
            requests += float(value)
        else:
            seconds += float(value)
    figures = {name: float(value) for name, value in _FIGURE.findall(text)}
    return Reading(
        int(requests),
        seconds,
        int(figures.get("rockdove_connections", 0)),
        int(figures.get("rockdove_long_polls", 0)),
        figures.get("rockdove_store_bytes"),
    )


# In a thread.


def is_ready(url: str) -> bool | None:
    """None: it does not answer."""
    try:
        return _ask(url, "GET", "/ready", READY_S)[0] == 200
    except (OSError, http.client.HTTPException):
        return None


def reading(url: str, token: str) -> Reading | None:
    """None: it does not tell."""
    try:
        status, text = _ask(url, "GET", "/metrics", METRICS_S, {"Authorization": f"Bearer {token}"})
    except (OSError, http.client.HTTPException):
        return None
    return parse(text) if status == 200 else None


def lets_anybody_in(url: str) -> bool:
    """Whether a request without a signature is served. Raises OSError and HTTPException."""
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.ListQueues"}
    return _ask(url, "POST", "/", READY_S, headers, "{}")[0] < 400


def _ask(
    url: str, method: str, path: str, timeout_s: float, headers: dict[str, str] | None = None, body: str | None = None
) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request(method, path, body, {"Connection": "close", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()
