"""A server that misbehaves as told: one act for each request."""

import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

# Given the connection, after a whole request was read; False: the connection is closed.
Act: TypeAlias = Callable[[socket.socket], bool]


def answer(body: bytes, status: int = 200, *, close: bool = False, extra: bytes = b"") -> Act:
    def act(connection: socket.socket) -> bool:
        head = b"HTTP/1.1 %d Status\r\nContent-Length: %d\r\n%b\r\n" % (status, len(body), extra)
        connection.sendall(head + body)
        return not close

    return act


def then_leave(act: Act) -> Act:
    """Close the connection a moment after an answer, when the client has left it idle."""

    def both(connection: socket.socket) -> bool:
        act(connection)
        time.sleep(0.05)
        return False

    return both


def hang_up(connection: socket.socket) -> bool:
    return False


def answer_by_half(connection: socket.socket) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    return False


def speak_otherwise(connection: socket.socket) -> bool:
    connection.sendall(b"220 mail.example.test ESMTP\r\n")
    return False


def stay_silent(connection: socket.socket) -> bool:
    """Until the client goes."""
    connection.recv(1)
    return False


class Scripted:
    """Listens on a free port; `targets` are the operations asked for, `connections` how many there were."""

    def __init__(self, *acts: Act) -> None:
        self._acts = list(acts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self.targets: list[str] = []
        self.connections = 0
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._open):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                # It is closed already.
                continue
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while self._read(connection) and self._acts.pop(0)(connection):
                    pass
            except OSError:
                return

    def _read(self, connection: socket.socket) -> bool:
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = connection.recv(65536)
            if not chunk:
                return False
            data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        pairs = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        headers = {name.lower(): value for name, value in pairs}
        while len(body) < int(headers[b"content-length"]):
            body += connection.recv(65536)
        self.targets.append(headers[b"x-amz-target"].decode())
        return True
