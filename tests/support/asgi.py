"""Asks an ASGI application without a server."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


async def ask(
    app: ASGIApp, method: str, path: str, headers: Mapping[str, str] | None = None, pieces: tuple[bytes, ...] = (b"",)
) -> Answer:
    """With a body in pieces."""
    address, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": address,
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "scheme": "http",
        "server": ("127.0.0.1", 9325),
    }
    incoming: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:]))
