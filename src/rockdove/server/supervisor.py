"""The parent of a service of several processes: starts the owner and the front-ends, again if they die, and ends them.

It is one thread without an event loop, so that it can fork at any time; children begin with all modules loaded.
"""

import contextlib
import ctypes
import errno
import logging
import os
import select
import shutil
import signal
import socket
import ssl
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from rockdove.core.errors import RockdoveError
from rockdove.server.board import Board
from rockdove.server.listener import bind
from rockdove.server.log import fields
from rockdove.server.service import FrontEndParts, certificate
from rockdove.server.setting import Settings
from rockdove.server.stop import STOP
from rockdove.server.tls import TlsError
from rockdove.store.common.keyfile import KeySource

# Seconds that the front-ends have to end, and then the owner, before they are killed. They see to it themselves that
# 3.5 and 1.5 are enough: this is for those that hang, and leaves time to those whose machine is busy.
FRONT_ENDS_STOP_S = 7.0
OWNER_STOP_S = 4.0
SLICE_S = 0.1
# Seconds before a child that dies again and again is started once more.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
# A child that has lived for so long did not die at its start.
SETTLED_S = 5.0
# Of folders for Unix sockets.
PREFIX = "rockdove-"
SOCKET = "owner"
# Seconds for which such a folder may have no socket that answers.
YOUNG_S = 60.0
# Of paths of Unix sockets.
_LONGEST_PATH = 100

_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)

log = logging.getLogger("rockdove")


class Ready(Struct):
    """What a child tells its parent once: that it serves, or why it does not."""

    accounts: bool = False
    # The exit code, and the line to print.
    code: int = 0
    # As bytes: it may name a folder whose name is not UTF-8.
    error: bytes = b""


class StartFailed(RockdoveError):
    """A child could not start; ``code`` is the exit code."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)


class _StopAsked(Exception):
    """The service is to stop while it starts."""


# What a child does: serves until SIGTERM. It calls its argument once it is ready.
Work = Callable[[Callable[[Ready], None]], None]


class Child:
    """A process, or the place of one that is to be started."""

    def __init__(self, name: str, row: int, work: Work) -> None:
        self.name = name
        self.row = row
        self.work = work
        self.pid = 0
        self.pipe = -1
        self.started_s = 0.0
        self.pause_s = FIRST_PAUSE_S
        # When to start it again.
        self.due_s = 0.0


class Family:
    """What the parent makes before its children are, and they inherit."""

    def __init__(self, settings: Settings) -> None:
        self.sockets: list[socket.socket] = []
        self.board = Board(settings.workers + 1)
        _sweep(Path(_short_folder() or tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_short_folder()))
        self.path = str(self.folder / SOCKET)
        # Front-ends that connect before the owner accepts wait in its queue, also while it is started again.
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(64)
        location = settings.locate()
        # What front-ends get whose certificate on disk is broken: the last one that was not.
        self.certificate = certificate(settings)
        self.tls: ssl.SSLContext | None = None
        self.key: KeySource = location.key()
        # Whether all messages are lost with the owner.
        self.is_volatile = not location.kind.is_kept
        if self.is_volatile:
            # In memory: made here, so that all front-ends have the same.
            self.key.create()

    def load_certificate(self) -> None:
        """Raises `TlsError`."""
        if self.certificate is not None:
            self.tls = self.certificate.load()

    def bind(self, host: str, port: int) -> None:
        """Raises OSError."""
        self.sockets = bind(host, port)

    @property
    def port(self) -> int:
        return int(self.sockets[0].getsockname()[1])

    def front_end(self, row: int) -> FrontEndParts:
        return FrontEndParts(self.path, self.sockets, self.board, row, self.key, self.tls)

    def close(self) -> None:
        for each in (*self.sockets, self.listening):
            each.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Supervisor:
    """``own`` and ``serve`` are the work of the owner, and of a front-end."""

    def __init__(self, family: Family, workers: int, own: Work, serve: Callable[[FrontEndParts], Work]) -> None:
        self._family = family
        self._owner = Child("owner", 0, own)
        # Made in the child: its sockets are bound by then.
        self._front_ends = [
            Child(f"front-end {row}", row, partial(_serve, serve, family, row)) for row in range(1, workers + 1)
        ]
        self._stopping = False

    def start(self, opened: Callable[[Ready], None]) -> Ready:
        """Returns when all serve. ``opened`` is called when the store is open, before anybody can connect.

        Raises `StartFailed`, and what ``opened`` raises.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._spawn(self._owner)
            opened(self._wait_until_ready(self._owner))
            for child in self._front_ends:
                self._spawn(child)
            return [self._wait_until_ready(child) for child in self._front_ends][-1]
        except _StopAsked:
            self._stop()
            raise SystemExit(0) from None
        except BaseException:
            self._kill_all()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise

    def run(self) -> None:
        """Keeps the children alive until SIGTERM or SIGINT, and ends them then."""
        while True:
            timeout_s = self._seconds_to_next_start()
            caught = signal.sigwaitinfo(_SIGNALS) if timeout_s is None else signal.sigtimedwait(_SIGNALS, timeout_s)
            number = None if caught is None else caught.si_signo
            if number in (signal.SIGTERM, signal.SIGINT):
                break
            if number == signal.SIGHUP:
                # What is broken, the front-ends tell of.
                with contextlib.suppress(TlsError):
                    self._family.load_certificate()
                _signal_all(self._front_ends, signal.SIGHUP)
            self._bury()
            self._start_due()
        self._stop()

    # Children.

    @property
    def _children(self) -> list[Child]:
        return [self._owner, *self._front_ends]

    def _spawn(self, child: Child) -> None:
        read, write = os.pipe()
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            self._be(child, parent, write)
        os.close(write)
        if child.pipe >= 0:
            os.close(child.pipe)
        child.pid, child.pipe, child.started_s = pid, read, time.monotonic()

    def _be(self, child: Child, parent: int, pipe: int) -> None:
        """In the child: never returns."""
        code = 1
        try:
            # Whatever happens to the parent, nobody stays behind.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
            # Ctrl-C in a terminal reaches everybody, and so does what some service managers send. The parent alone says
            # when to stop, because the order matters: front-ends need the owner until they have answered.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

            def ready(told: Ready) -> None:
                with contextlib.suppress(OSError):
                    os.write(pipe, msgspec.json.encode(told))
                os.close(pipe)

            child.work(ready)
            code = 0
        except SystemExit:
            # It has told why.
            code = 1
        except BaseException as error:
            log.error("%s has failed", child.name, exc_info=error, extra=fields("defect", process=child.name))
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _wait_until_ready(self, child: Child) -> Ready:
        """Meanwhile the owner may die, without which no front-end gets ready, or somebody may want all to stop."""
        with os.fdopen(child.pipe, "rb") as pipe:
            child.pipe = -1
            while not select.select([pipe], [], [], SLICE_S)[0]:
                if signal.sigtimedwait((signal.SIGTERM, signal.SIGINT), 0) is not None:
                    raise _StopAsked
                if os.waitid(os.P_PID, self._owner.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    raise StartFailed(1, "the owner has died while the service started; start it again")
            text = pipe.read()
        told = (
            msgspec.json.decode(text, type=Ready)
            if text
            else Ready(code=1, error=f"the {child.name} has died".encode())
        )
        if told.error:
            raise StartFailed(told.code, os.fsdecode(told.error))
        return told

    def _bury(self) -> None:
        """See which children have died, and when to start them again."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for child in self._children:
                if child.pid == pid:
                    self._died(child, status)

    def _died(self, child: Child, status: int) -> None:
        now_s = time.monotonic()
        child.pid = 0
        self._family.board.clear(child.row)
        if self._stopping:
            return
        child.pause_s = (
            FIRST_PAUSE_S if now_s - child.started_s > SETTLED_S else min(2 * child.pause_s, LONGEST_PAUSE_S)
        )
        child.due_s = now_s + child.pause_s
        log.error(
            "the %s has ended (%s) and is started again%s",
            child.name,
            _why(status),
            _last_words(child),
            extra=fields("process-ended", process=child.name),
        )
        if child is self._owner and self._family.is_volatile:
            log.error("the memory store is empty now: it was in the process that has ended", extra=fields("store-lost"))

    def _seconds_to_next_start(self) -> float | None:
        due = [child.due_s for child in self._children if not child.pid]
        return max(min(due) - time.monotonic(), 0) if due else None

    def _start_due(self) -> None:
        for child in self._children:
            if not child.pid and child.due_s <= time.monotonic():
                self._spawn(child)

    # The end.

    def _stop(self) -> None:
        self._stopping = True
        for children, most_s in ((self._front_ends, FRONT_ENDS_STOP_S), ([self._owner], OWNER_STOP_S)):
            _signal_all(children, STOP)
            for _ in range(round(most_s / SLICE_S)):
                self._bury()
                if not any(child.pid for child in children):
                    break
                # In slices: time for which the machine stood still does not count.
                signal.sigtimedwait((signal.SIGCHLD,), SLICE_S)
        self._kill_all()

    def _kill_all(self) -> None:
        self._stopping = True
        _signal_all(self._children, signal.SIGKILL)
        for child in self._children:
            if child.pid:
                os.waitpid(child.pid, 0)
                child.pid = 0


def _serve(serve: Callable[[FrontEndParts], Work], family: Family, row: int, ready: Callable[[Ready], None]) -> None:
    serve(family.front_end(row))(ready)


def _signal_all(children: list[Child], number: signal.Signals) -> None:
    for child in children:
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


def _why(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _last_words(child: Child) -> str:
    """Why it could not start, if it has said so."""
    if child.pipe < 0:
        return ""
    text = os.read(child.pipe, 65_536)
    with contextlib.suppress(msgspec.DecodeError):
        error = msgspec.json.decode(text, type=Ready).error
        return f": {os.fsdecode(error)}" if error else ""
    return ""


def _sweep(folder: Path) -> None:
    """Remove the folders of services whose parent was killed: nobody answers at their sockets.

    Not those that are new: where a service just starts, nobody answers yet.
    """
    for left in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            status = left.lstat()
            if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode) or not _is_ours(left):
                continue
            is_old = time.time() - status.st_mtime > YOUNG_S
            if is_old and probe.connect_ex(str(left / SOCKET)) in (errno.ECONNREFUSED, errno.ENOENT):
                shutil.rmtree(left, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether it holds a socket of ours, or nothing: others may like the prefix, too."""
    return all(name == SOCKET for name in os.listdir(folder))


def _short_folder() -> str | None:
    """Where the socket's folder goes: a path that is too long cannot be a socket's."""
    return None if len(tempfile.gettempdir()) < _LONGEST_PATH - 40 else "/tmp"
