"""A service that loses, doubles or damages messages: a real one behind somebody who meddles with some of its sends."""

import hashlib
import http.client
import json
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

# Given a send's request and what passes a request on; gives the answer.
PassOn = Callable[[dict[str, Any]], bytes]
Tamper = Callable[[dict[str, Any], PassOn], bytes]


def swallow(request: dict[str, Any], pass_on: PassOn) -> bytes:
    """Say that the message was taken, and forget it."""
    digest = hashlib.md5(request["MessageBody"].encode()).hexdigest()
    return json.dumps({"MessageId": str(uuid.uuid4()), "MD5OfMessageBody": digest}).encode()


def double(request: dict[str, Any], pass_on: PassOn) -> bytes:
    pass_on(request)
    return pass_on(request)


def damage(request: dict[str, Any], pass_on: PassOn) -> bytes:
    """Change one character in the middle of the body."""
    body = request["MessageBody"]
    middle = len(body) // 2
    other = "A" if body[middle] != "A" else "B"
    return pass_on(request | {"MessageBody": body[:middle] + other + body[middle + 1 :]})


class Tampering:
    """Passes everything on to ``endpoint`` except what it does to sends; `acts` are counted from the first, 0."""

    def __init__(self, endpoint: str, acts: dict[int, Tamper]) -> None:
        self._real = urlsplit(endpoint).netloc
        self._acts = acts
        self._sends = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Nobody reads it."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever)
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        target = handler.headers["X-Amz-Target"]
        statuses = [200]

        def pass_on(request: dict[str, Any]) -> bytes:
            statuses[0], answer = self._ask(target, json.dumps(request).encode())
            return answer

        if target == "AmazonSQS.SendMessage":
            with self._lock:
                act = self._acts.get(self._sends)
                self._sends += 1
            answer = (act or (lambda request, passed: passed(request)))(json.loads(body), pass_on)
        else:
            answer = pass_on(json.loads(body))
        handler.send_response(statuses[0])
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    def _ask(self, target: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._real, timeout=30)
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
        try:
            connection.request("POST", "/", body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
