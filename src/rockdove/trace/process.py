"""The writing process as the recorder sees it: events go in, news come out."""

import contextlib
import fcntl
import os
import subprocess
import sys
import threading

import msgspec

from rockdove.trace.pipe import News, pack
from rockdove.trace.writer import Plan, Row

PIPE_BYTES = 1 << 20


class Process:
    """Runs once made. To be used by one thread, apart from `news` and `settled`."""

    def __init__(self, plan: Plan) -> None:
        # What the process has told last.
        self.news = News()
        # Set when it can write at once, or never will.
        self.settled = threading.Event()
        # Events that it was given.
        self.given = 0
        argv = [sys.executable, "-m", "rockdove.trace.child", msgspec.json.encode(plan).decode()]
        self._child = subprocess.Popen(argv, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdin is not None
        # Room for some batches, so that neither side waits for the other. More than the system allows is not needed.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._child.stdin.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._listener = threading.Thread(target=self._listen, name="trace-news", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        return self._child.poll() is None

    def send(self, rows: list[Row]) -> None:
        """Waits while the process has more to do than it can. Raises OSError if it is gone; then the events are counted
        when it is finished. Raises TypeError, ValueError or OverflowError for events that cannot be."""
        rest = memoryview(pack(rows))
        self.given += len(rows)
        assert self._child.stdin is not None
        while rest:
            rest = rest[os.write(self._child.stdin.fileno(), rest) :]

    def kill(self) -> None:
        self._child.kill()

    def finish(self, wait_s: float) -> None:
        """Let it write what it has, and end; one that does not is killed. Counts what is lost as dropped."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        try:
            self._child.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._listener.join()
        self._child.stdout.close()
        self.news.dropped = self.given - self.news.written

    def _listen(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self.news = msgspec.json.decode(line, type=News)
            self.settled.set()
        self.settled.set()
