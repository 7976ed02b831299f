"""A well-behaved client that works all the time, while somebody else misbehaves."""

import http.client
import json
import threading
import time
from types import TracebackType
from typing import Any, Self

# Another address of loopback than the tests have, so that limits for an address can tell the two apart.
ADDRESS = "127.0.0.2"
_PATIENCE_S = 120
# A neighbour that never rests would only measure how fast the machine is.
_PAUSE_S = 0.002


class Neighbour:
    """Sends, receives and deletes over one connection until the block ends; an error of its own fails the block."""

    def __init__(self, port: int) -> None:
        self.rounds = 0
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=_PATIENCE_S, source_address=(ADDRESS, 0)
        )
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="neighbour", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.go_on()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.go_on()
        finally:
            self._done.set()
            self._thread.join(_PATIENCE_S)
            self._connection.close()

    def go_on(self) -> None:
        """Returns when it has done some more; fails if it cannot."""
        wanted, deadline = self.rounds + 5, time.monotonic() + _PATIENCE_S
        while self.rounds < wanted:
            if self._error is not None:
                raise AssertionError(f"the neighbour noticed, after {self.rounds} rounds") from self._error
            assert time.monotonic() < deadline, f"the neighbour is stuck, after {self.rounds} rounds"
            time.sleep(0.01)

    def _work(self) -> None:
        try:
            url = self._call("CreateQueue", QueueName="neighbour")["QueueUrl"]
            while not self._done.wait(_PAUSE_S):
                body = f"{self.rounds}"
                self._call("SendMessage", QueueUrl=url, MessageBody=body)
                [message] = self._call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=1)["Messages"]
                assert message["Body"] == body
                self._call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                self.rounds += 1
        except BaseException as error:
            self._error = error

    def _call(self, operation: str, **content: Any) -> Any:
        self._connection.request("POST", "/", json.dumps(content), {"X-Amz-Target": f"AmazonSQS.{operation}"})
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body or b"{}")
