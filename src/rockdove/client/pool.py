"""Connections for blocking calls: kept open between requests, shared by threads, one request at a time on each."""

import http.client
import os
import select
import ssl
import threading
from collections.abc import Mapping

from rockdove.client.endpoint import Endpoint
from rockdove.client.envelope import Reply
from rockdove.client.error import Lost, UnexpectedAnswer

# Idle connections kept; more threads than this at once open theirs anew.
MOST_IDLE = 32


class Pool:
    """Thread-safe. A process that forks gets connections of its own on both sides."""

    def __init__(self, endpoint: Endpoint, connect_timeout_s: float, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._connect_timeout_s = connect_timeout_s
        self._tls = (tls or ssl.create_default_context()) if endpoint.tls else None
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False

    def post(self, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Raises `Lost` and `UnexpectedAnswer`."""
        connection = self._take() or self._connect()
        reusable = False
        try:
            arrived = self._send(connection, headers, body, timeout_s)
            reply, reusable = self._receive(connection, timeout_s, arrived)
        finally:
            # Also if this thread was interrupted: the service must see that nobody waits any more.
            if reusable:
                self._give(connection)
            else:
                connection.close()
        return reply

    def _connect(self) -> http.client.HTTPConnection:
        host, port, timeout_s = self._endpoint.host, self._endpoint.port, self._connect_timeout_s
        if self._tls is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=timeout_s, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise Lost(_reason(error, timeout_s), arrived=False) from error
        return connection

    def _send(
        self, connection: http.client.HTTPConnection, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> bool:
        """Whether it was sent whole: the service acts on whole requests only."""
        connection.sock.settimeout(timeout_s)
        try:
            connection.request("POST", self._endpoint.path, body, dict(headers))
        except ConnectionError:
            # There may be an answer that tells why the service did not want the rest.
            return False
        except OSError as error:
            raise Lost(_reason(error, timeout_s), arrived=False) from error
        return True

    def _receive(self, connection: http.client.HTTPConnection, timeout_s: float, arrived: bool) -> tuple[Reply, bool]:
        """The answer, and whether the connection can be used again."""
        try:
            response = connection.getresponse()
            body = response.read()
        except OSError as error:
            raise Lost(_reason(error, timeout_s), arrived) from error
        except http.client.IncompleteRead as error:
            raise Lost("the connection was cut in the middle of the answer", arrived) from error
        except http.client.HTTPException as error:
            raise UnexpectedAnswer(self._endpoint.url, "with something else than HTTP") from error
        return Reply(response.status, response.getheader("x-amzn-query-error"), body), not response.will_close

    def _take(self) -> http.client.HTTPConnection | None:
        """The connection used last: the others may then grow old together and be closed by the service."""
        with self._lock:
            if self._process != os.getpid():
                self._process, self._idle = os.getpid(), []
            while self._idle:
                connection = self._idle.pop()
                if not is_stale(connection.sock.fileno()):
                    return connection
                connection.close()
        return None

    def _give(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def is_stale(descriptor: int) -> bool:
    """Whether an idle connection has something to read: the other side has hung up, or is out of step."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLRDHUP)
    return bool(poll.poll(0))


def _reason(error: OSError, timeout_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the connection was closed without an answer"
    return error.strerror or str(error) or type(error).__name__
