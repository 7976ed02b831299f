"""A receive that waits, on a connection of its own, so that a test can do something else meanwhile."""

import socket
import time
from typing import Any

from tests.support.raw import Reply, Wire, json_request

# Longer than the longest wait.
_PATIENCE_S = 120
# Long enough for a request to have arrived and to be waiting.
_ARRIVED_S = 0.05


class LongPoll:
    """Waits once constructed; `patient=False` does not even make sure that the request has arrived."""

    def __init__(self, port: int, url: str, *, patient: bool = True, **options: Any) -> None:
        self.wire = Wire(port, _PATIENCE_S)
        self.began = time.monotonic()
        self.wire.send(json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20, **options}))
        if patient:
            time.sleep(_ARRIVED_S)

    def reply(self) -> Reply:
        """The answer, once it has come; the connection is closed."""
        reply = self.wire.read()
        self.wire.close()
        return reply

    def bodies(self) -> list[str]:
        reply = self.reply()
        assert reply.status == 200, reply
        return [message["Body"] for message in reply.json.get("Messages", [])]

    def is_waiting(self) -> bool:
        """Whether no answer has come yet."""
        self.wire.socket.setblocking(False)
        try:
            return not self.wire.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        finally:
            self.wire.socket.settimeout(_PATIENCE_S)
