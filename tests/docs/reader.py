"""Somebody who does what a page says: types its commands, writes its files, compares what is printed."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.expected import is_as_shown, pattern, plain
from tests.docs.need import provide
from tests.docs.page import Block, Page
from tests.docs.repl import Python, Repl, Shell
from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.server import Server

_START_TIMEOUT_S = 30
# The same for what is done in it meanwhile.
_SEEN_TIMEOUT_S = 240
# A program may wait for its long poll before it ends.
_END_TIMEOUT_S = 60
# The default port, and those that pages use beside it.
_PORT = re.compile(r"\b(?:93[0-9]{2}|1883|5683)\b")
# A page has to tell these itself.
_UNSAID = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION")


def read(page: Page, folder: Path) -> None:
    """Returns when all of the page was done as it says; fails where it went another way."""
    provide(page, folder)
    reader = Reader(page, folder)
    try:
        reader.read()
    finally:
        reader.close()


class Reader:
    """Reads one page in a folder of its own, with a service at the default port unless the page starts one."""

    def __init__(self, page: Page, folder: Path) -> None:
        self._page = page
        self._folder = folder
        self._ports: dict[str, str] = {}
        self._terminals: dict[str, Process] = {}
        self._printed: str | None = None
        self._server = None if _starts_service(page) else Server(folder, port=int(self._port("9324")))
        environment = {name: value for name, value in isolated().items() if name not in _UNSAID}
        self._environment = environment | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]]),
            "ROCKDOVE_PORT": self._port("9324"),
            "ROCKDOVE_ENDPOINT": f"http://127.0.0.1:{self._port('9324')}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._shell = Shell(folder, self._environment)
        self._python = Python(folder, self._environment)

    def _port(self, written: str) -> str:
        """A free port for each that the page has."""
        if written not in self._ports:
            self._ports[written] = str(free_port())
        return self._ports[written]

    def _translated(self, text: str) -> str:
        return _PORT.sub(lambda found: self._port(found[0]), text)

    def read(self) -> None:
        for block in self._page.blocks():
            if block.is_run:
                self._do(block, self._translated(block.text))

    def _do(self, block: Block, text: str) -> None:
        if block.word == "prints":
            assert self._printed is not None, f"{block.place}: no block before it that prints"
            _compare(block, "the block before it", self._printed, text)
            self._printed = None
        elif block.word.startswith("run: file "):
            (self._folder / block.word.removeprefix("run: file ")).write_text(text)
        elif block.word.startswith("run: end "):
            self._end(block.word.removeprefix("run: end "))
        elif block.word.startswith("run: seen "):
            self._watch(block, block.word.removeprefix("run: seen "), text, _SEEN_TIMEOUT_S)
        elif block.word.startswith("run: background "):
            self._start(block, block.word.removeprefix("run: background "), text)
        elif block.language == "console":
            self._type(block, text)
        elif block.language == "sh":
            self._printed = "".join(_succeed(block, self._shell, line) for line in text.splitlines())
        else:
            self._printed = _succeed(block, self._python, text)

    def _type(self, block: Block, text: str) -> None:
        commands = list(_commands(text))
        for place, (command, shown) in enumerate(commands):
            printed, code = self._shell.run(command)
            asked = place + 1 < len(commands) and commands[place + 1][0].startswith("echo $?")
            assert code == 0 or asked, f"{block.place}: {command} ended with {code}\n{printed}"
            _compare(block, command, printed, shown)

    def _start(self, block: Block, terminal: str, text: str) -> None:
        [(command, shown)] = _commands(text)
        self._end(terminal)
        # env: so that a page may set variables, and the process is the program itself.
        command = f"exec env {command}"
        self._terminals[terminal] = Process(
            ["bash", "-c", command], self._folder, terminal, environment=self._environment
        )
        self._watch(block, terminal, shown)

    def _watch(self, block: Block, terminal: str, shown: str, timeout_s: float = _START_TIMEOUT_S) -> None:
        process, wanted = self._terminals[terminal], pattern(shown)
        process.wait_for(
            lambda: wanted.search(plain(process.out.read_text() + process.err.read_text())) is not None,
            f"what {block.place} shows",
            timeout_s,
        )

    def _end(self, terminal: str) -> None:
        process = self._terminals.pop(terminal, None)
        if process is not None and process.exit_code is None:
            process.stop(_END_TIMEOUT_S)

    def close(self) -> None:
        self._shell.close()
        self._python.close()
        for terminal in list(self._terminals):
            self._end(terminal)
        if self._server is not None:
            self._server.stop()


def _starts_service(page: Page) -> bool:
    """Whether the page itself starts the service at the default port."""
    started = [block.text for block in page.blocks() if block.word.startswith("run: background")]
    return any(re.match(r"\$ rockdove serve(?!.*--port)", text) for text in started)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Commands after `$ `, which `> ` continues, each with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = 1
        while end < len(lines) and lines[end].startswith("> "):
            end += 1
        command = [lines[0], *(line.removeprefix("> ") for line in lines[1:end])]
        yield "\n".join(command), "\n".join(lines[end:])


def _succeed(block: Block, repl: Repl, text: str) -> str:
    printed, code = repl.run(text)
    assert code == 0, f"{block.place} failed\n{text}\n{printed}"
    return printed


def _compare(block: Block, what: str, printed: str, shown: str) -> None:
    assert is_as_shown(printed, shown), f"{block.place}: {what} printed\n{printed}\nbut the page shows\n{shown}"
