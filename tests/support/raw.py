"""HTTP without an SDK: what is sent is what the test wrote, and what comes back is all of it."""

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Reply:
    """Headers have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Web:
    """Requests to one service over one connection that is kept open, from an address of this machine."""

    def __init__(self, port: int, timeout_s: float = _TIMEOUT_S, address: str = "127.0.0.1") -> None:
        self.port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s, source_address=(address, 0))

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        self._connection.request(method, path, body or None, dict(headers or {}))
        answer = self._connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def call(self, target: str, content: Any, headers: Mapping[str, str] | None = None, path: str = "/") -> Reply:
        """AWS JSON; content that is no bytes yet is written as JSON. `target` may be without AmazonSQS."""
        full = target if "." in target else f"AmazonSQS.{target}"
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        base = {"X-Amz-Target": full, "Content-Type": "application/x-amz-json-1.0"}
        return self.request("POST", path, body, base | dict(headers or {}))

    def get(self, path: str = "/", headers: Mapping[str, str] | None = None, /, **parameters: str) -> Reply:
        """AWS Query by GET."""
        if "Action" in parameters and headers is None:
            # What no page can send, and every SDK does.
            headers = {"X-Amz-Date": "20260203T040506Z"}
        return self.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path, headers=headers)

    def post(self, path: str = "/", headers: Mapping[str, str] | None = None, /, **parameters: str) -> Reply:
        """AWS Query by POST."""
        base = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode(parameters).encode(), base | dict(headers or {}))

    def create(self, name: str, **attributes: str) -> str:
        """A queue's URL."""
        reply = self.call("CreateQueue", {"QueueName": name, "Attributes": attributes})
        assert reply.status == 200, reply
        url: str = reply.json["QueueUrl"]
        return url

    def close(self) -> None:
        self._connection.close()


class Wire:
    """A bare socket, for what no HTTP library would send."""

    def __init__(self, port: int, timeout_s: float = _TIMEOUT_S) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> Reply:
        """One answer, which must have a length."""
        line = self._stream.readline()
        assert line, "closed without an answer"
        headers: dict[str, str] = {}
        while (header := self._stream.readline().decode("latin-1").strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        return Reply(int(line.split()[1]), headers, self._stream.read(int(headers.get("content-length", "0"))))

    def is_closed(self) -> bool:
        """Whether the other end has closed; waits for it."""
        try:
            return self._stream.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._stream.close()
        self.socket.close()


def json_request(target: str, content: Any, *headers: str) -> bytes:
    """An AWS JSON request as it goes over the wire."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = [
        "POST / HTTP/1.1",
        "Host: queue.test",
        f"X-Amz-Target: {target if '.' in target else f'AmazonSQS.{target}'}",
        "Content-Type: application/x-amz-json-1.0",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
