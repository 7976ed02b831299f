"""What commands print: text and tables for people, JSON for programs; standard output is for nothing else."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rockdove.cli.failure import Failure, ReaderGone
from rockdove.cli.figure import harmless

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# For who is no terminal: nothing is cut off, nothing wrapped.
_ENDLESS = 100_000


class Output:
    """Standard output, and notes on standard error."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.is_terminal = sys.stdout.isatty()
        self._console: Console | None = None

    def document(self, value: object) -> None:
        """The one JSON document of a command; spread out for a terminal."""
        text = msgspec.json.encode(value)
        self._write(msgspec.json.format(text, indent=2) if self.is_terminal else text)

    def outcome(self, value: object, text: str) -> None:
        """What a command has done: the document, or a line for people."""
        if self.as_json:
            self.document(value)
        else:
            self.line(text)

    def record(self, value: object) -> None:
        """One of many JSON documents, a line each."""
        self._write(msgspec.json.encode(value))

    def line(self, text: str) -> None:
        self._write((harmless(text) if self.is_terminal else text).encode(errors="replace"))

    def dim(self, text: str) -> None:
        """A line of lesser weight, for a terminal."""
        self.console.print(harmless(text), style="dim", markup=False, highlight=False)

    def _write(self, line: bytes) -> None:
        """Raises `ReaderGone`, and `Failure` if the output takes no more."""
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        except OSError as error:
            # Python would try to write the rest once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                raise ReaderGone("nobody reads the output any more") from None
            raise Failure(f"cannot write the output: {error.strerror or error}") from None

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
        """Columns with headings; ``numbers`` are the columns to align to the right."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
        for place, heading in enumerate(headings):
            table.add_column(heading, justify="right" if place in numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(self._cell, row))
        self._print(table)

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and values."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*map(self._cell, row))
        self._print(table)

    def _print(self, table: "Table") -> None:
        with self.console.capture() as capture:
            self.console.print(table)
        # Rich fills the last column up with blanks.
        lines = [line.rstrip() for line in capture.get().splitlines()]
        self._write("\n".join(lines).encode(errors="replace"))

    def _cell(self, text: str) -> str:
        from rich.markup import escape

        return escape(harmless(text) if self.is_terminal else text)

    @property
    def console(self) -> "Console":
        if self._console is None:
            from rich.console import Console

            self._console = Console(
                file=sys.stdout, width=None if self.is_terminal else _ENDLESS, highlight=False, soft_wrap=False
            )
        return self._console


def note(text: str) -> None:
    """Progress and the like."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """A count on standard error that runs on a terminal and is silent elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._dirty = False

    def show(self, text: str) -> None:
        if self._shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self._dirty = True

    def clear(self) -> None:
        if self._dirty:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._dirty = False
