"""A real `rockdove console` in a process of its own, and a browser that keeps cookies and runs no scripts."""

import http.client
import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.support.port import free_port
from tests.support.process import Process
from tests.support.server import COMMAND

_READY = re.compile(r"^ready http://127.0.0.1:(\d+)$", re.MULTILINE)
_START_TIMEOUT_S = 60
_TIMEOUT_S = 30


class Console:
    """Listens once constructed."""

    def __init__(self, folder: Path, endpoint: str, *arguments: str) -> None:
        self.port = free_port()
        command = [*COMMAND, "console", "--endpoint", endpoint, "--port", str(self.port), *arguments]
        self.process = Process(command, folder, f"console-{self.port}")
        try:
            self.process.wait_for(
                lambda: _READY.search(self.process.out.read_text()) is not None, "ready line", _START_TIMEOUT_S
            )
        except BaseException:
            if self.process.exit_code is None:
                self.process.kill()
            raise

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Browser:
    def __init__(self, console: Console) -> None:
        self._console = console
        self.cookie = ""

    def ask(self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._console.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, body, {"Cookie": self.cookie, **(headers or {})})
            response = connection.getresponse()
            reply = Reply(response.status, response.headers, response.read().decode())
        finally:
            connection.close()
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply

    def get(self, path: str) -> Reply:
        return self.ask("GET", path)

    def post(self, path: str, order: object) -> Reply:
        return self.ask("POST", path, json.dumps(order), {"Origin": self._console.origin})

    def submit(self, path: str, **values: str) -> Reply:
        headers = {"Origin": self._console.origin, "Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(values), headers)

    def sign_in(self, account: str, password: str, wanted: str = "/") -> Reply:
        return self.submit("/login", account=account, password=password, next=wanted)

    def stream(self, query: str) -> "Stream":
        return Stream(self._console, query, self.cookie)


class Stream:
    """Server-sent events."""

    def __init__(self, console: Console, query: str, cookie: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=_TIMEOUT_S)
        self._connection.request("GET", f"/events?{query}", headers={"Cookie": cookie})
        self._response = self._connection.getresponse()

    def next(self) -> tuple[str, Any] | None:
        """None at its end."""
        name = ""
        while line := self._response.readline():
            word, _, value = line.decode().strip().partition(": ")
            if word == "event":
                name = value
            elif word == "data":
                return name, json.loads(value)
        return None

    def until(self, wanted: str) -> Any:
        while (event := self.next()) is not None:
            if event[0] == wanted:
                return event[1]
        raise AssertionError(f"the stream ended without {wanted}")

    def close(self) -> None:
        self._response.close()
        self._connection.close()
