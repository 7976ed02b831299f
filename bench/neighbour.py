"""A client that behaves well beside others, and measures how long its sends take."""

from __future__ import annotations

import threading
import time

from bench.call import CallError, call, create


class Neighbour(threading.Thread):
    """Sends to a queue of its own, each time over a new connection, with pauses."""

    def __init__(self, endpoint: str, pause_s: float) -> None:
        super().__init__(daemon=True)
        self._endpoint = endpoint
        self._pause_s = pause_s
        self._url = create(endpoint, "neighbour")
        self._over = threading.Event()
        self.seconds: list[float] = []
        self.failures = 0

    def run(self) -> None:
        while not self._over.wait(self._pause_s):
            begin_s = time.monotonic()
            try:
                call(self._endpoint, "SendMessage", QueueUrl=self._url, MessageBody="x")
            except (CallError, OSError):
                self.failures += 1
            self.seconds.append(time.monotonic() - begin_s)

    def take(self) -> list[float]:
        """The times so far; it begins anew."""
        taken, self.seconds = self.seconds, []
        return taken

    def end(self) -> None:
        self._over.set()
        self.join()
