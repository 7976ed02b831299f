"""Records events without ever making their producer wait: a bounded buffer, a thread, and a process that writes."""

import importlib.util
import logging
import os
import re
import secrets
import threading
from pathlib import Path
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from rockdove.core.errors import RockdoveError
from rockdove.trace.extra import pyarrow
from rockdove.trace.keep import Keep
from rockdove.trace.pipe import News
from rockdove.trace.process import Process
from rockdove.trace.writer import Plan, Row

# Events that wait for the process at most: some seconds of a busy service.
BUFFER = 200_000
# Seconds between two looks at the buffer: short, so that new events get memory that the processor still has at hand.
PAUSE_S = 0.05
# Events handed over at a time: packing them holds up the rest of this process for a fraction of a millisecond.
AT_ONCE = 1_000
# Seconds before a process that has died is replaced.
REPLACE_S = 1.0
# After so many seconds without a loss, the trouble is over.
CALM_S = 5.0
# Seconds that the process has to load what it needs; it goes on without, and what comes meanwhile waits in the buffer.
SETTLE_S = 10.0
# Seconds that the process has at the end to write the rest, unless there is a hurry.
CLOSE_S = 20.0
SLICE_S = 0.1
# And to end once it was killed, which one that waits for a dead disk does not.
KILLED_S = 0.5

DIED = "the process that writes it has died"
SLOW = "the process that writes it took too long at the end"

log = logging.getLogger("rockdove.trace")


class Told(Struct):
    """What the log has been told: how many events are lost, since when none was, and whether that is bad news."""

    dropped: int = 0
    since_s: float = 0.0
    bad: bool = False


class TraceFolderError(RockdoveError):
    """The folder for a trace cannot be used; the message says why."""


class Recorder:
    """Takes events from any thread between `start` and `close`; see `rockdove.trace.schema.Event`.

    ``node`` names who records, ``side`` which side that is. Files show once they are complete: after ``roll_s``
    seconds, or with ``roll_bytes`` bytes.
    """

    def __init__(
        self,
        folder: Path,
        node: str,
        side: str,
        keep: Keep = Keep(),  # noqa: B008
        *,
        roll_bytes: int = 64_000_000,
        roll_s: float = 10.0,
        buffer: int = BUFFER,
    ) -> None:
        self._folder = folder.absolute()
        # May be changed until `start`.
        self.node = node
        self._plan = Plan(folder=str(self._folder), side=side, keep=keep, roll_bytes=roll_bytes, roll_s=roll_s)
        self._rows: list[Row] = []
        self._buffer = buffer
        self._lock = threading.Lock()
        # Events that found no room, or no process to take them.
        self._missed = 0
        self._process: Process | None = None
        self._replace_s = 0.0
        self._gave_up = False
        # What the processes have told that are no more.
        self._past = News()
        # Why events were dropped here, until it has been told.
        self._reason: str | None = None
        self._told = Told()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Whether there is all that recording takes. Raises `MissingExtra` or `TraceFolderError`."""
        if importlib.util.find_spec("pyarrow") is None:
            pyarrow()
        try:
            # Names of queues are for nobody else.
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise TraceFolderError(f"cannot record traces in {self._folder}: {error.strerror or error}") from None
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise TraceFolderError(f"cannot record traces in {self._folder}: it may not be written to")

    def start(self) -> None:
        """Raises `MissingExtra` or `TraceFolderError`."""
        self.check()
        self._process = self._launch()
        self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
        self._thread.start()

    def settle(self) -> None:
        """Wait until the process can write. One that still loads when it is to end may not have the time for it."""
        process = self._process
        if process is not None:
            process.settled.wait(SETTLE_S)

    def add(self, row: Row) -> None:
        """Take an event, or count it as dropped. A plain tuple of the same values costs least."""
        rows = self._rows
        if len(rows) < self._buffer:
            rows.append(row)
        else:
            self._miss(1)

    @property
    def dropped(self) -> int:
        """Events that are in no file, and never will be."""
        process = self._process
        return self._missed + self._past.dropped + (process.news.dropped if process is not None else 0)

    @property
    def written(self) -> int:
        """Events in complete files."""
        process = self._process
        return self._past.written + (process.news.written if process is not None else 0)

    def close(self, wait_s: float = CLOSE_S) -> None:
        """Write everything; returns when it is written, or given up because it takes longer than that."""
        if self._thread is not None:
            self._stopping.set()
            for _ in range(round(wait_s / SLICE_S)):
                # In slices: time for which the machine stood still, and nobody could write, does not count.
                self._thread.join(SLICE_S)
                if not self._thread.is_alive():
                    break
            process = self._process
            if self._thread.is_alive() and process is not None:
                # It takes nothing any more, and the thread waits for it.
                self._gave_up = True
                process.kill()
                self._thread.join(KILLED_S)
                if self._thread.is_alive():
                    # It has not come to it.
                    self._reason = SLOW
                    self._report()
            self._thread = None

    # In the recorder's own thread.

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_S):
            self._look_after()
            self._hand_over()
            self._report()
        self._hand_over()
        self._end_process(None)
        self._report()

    def _launch(self) -> Process:
        place = re.sub(r"[^A-Za-z0-9.]+", "_", self.node)
        return Process(replace(self._plan, node=self.node, name=f"{place}-{os.getpid()}-{secrets.token_hex(4)}"))

    def _look_after(self) -> None:
        """Replace a process that has died."""
        if self._process is not None and not self._process.is_alive:
            self._end_process(DIED)
        if self._process is None and monotonic() >= self._replace_s:
            self._process = self._launch()

    def _hand_over(self) -> None:
        rows = self._rows
        while number := min(len(rows), AT_ONCE):
            # Each of the two is one step for other threads: what they add meanwhile stands behind.
            batch = rows[:number]
            del rows[:number]
            self._hand(batch)

    def _hand(self, batch: list[Row]) -> None:
        if self._process is None:
            self._miss(len(batch))
            return
        try:
            self._process.send(batch)
        except OSError:
            self._end_process(DIED)
        except (TypeError, ValueError, OverflowError) as error:
            if len(batch) > 1:
                for row in batch:
                    self._hand([row])
                return
            self._miss(1)
            self._reason = f"an event does not fit the schema: {error}"

    def _end_process(self, reason: str | None) -> None:
        process = self._process
        if process is not None:
            process.finish(CLOSE_S)
            self._past = News(self._past.written + process.news.written, self._past.dropped + process.news.dropped)
            self._process = None
            self._replace_s = monotonic() + REPLACE_S
            self._reason = reason or (SLOW if self._gave_up else process.news.trouble)

    def _miss(self, number: int) -> None:
        with self._lock:
            self._missed += number

    def _report(self) -> None:
        """Tell the log when events begin to get lost, and when that is over."""
        told, dropped, now = self._told, self.dropped, monotonic()
        trouble = self._reason or (self._process.news.trouble if self._process is not None else None)
        self._reason = None
        if dropped > told.dropped or trouble is not None:
            if not told.bad:
                reason = trouble or "there are more than can be written"
                log.error("events are missing from the trace in %s: %s", self._folder, reason, extra=event("trouble"))
            self._told = Told(dropped, now, True)
        elif told.bad and now - told.since_s >= CALM_S:
            text = "the trace in %s is recorded again; %d events are missing since the start"
            log.warning(text, self._folder, dropped, extra=event("recovered"))
            told.bad = False


def event(name: str) -> dict[str, str]:
    """What a log line is called where lines have names."""
    return {"event": f"trace-{name}"}
