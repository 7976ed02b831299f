"""What a benchmark hands over: one JSON document, or tables for people, on the screen and as a Markdown file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.error import BenchError
from bench.machine import SCRATCH, Machine


class Report(msgspec.Struct, frozen=True):
    """The JSON form, the same for every benchmark of the house."""

    bench: str
    machine: Machine
    command: str
    rows: list[Any]
    ratios: dict[str, float]
    holds: dict[str, bool]


class Table(msgspec.Struct, frozen=True):
    head: list[str]
    rows: list[list[str]]
    note: str = ""

    def __str__(self) -> str:
        """Markdown, padded so that it also reads well as it is; all but the first column are flush right."""
        widths = [max(len(row[i]) for row in [self.head, *self.rows]) for i in range(len(self.head))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines = [self._line(row, widths) for row in [self.head, rule, *self.rows]]
        return "\n".join(lines) + (f"\n\n{self.note}" if self.note else "")

    def _line(self, cells: list[str], widths: list[int]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "| " + " | ".join([first, *rest]) + " |"


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


def rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.1f}"


def claims(holds: dict[str, bool]) -> Table:
    return Table(["claim", "holds"], [[claim, yes(held)] for claim, held in holds.items()])


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def options(description: str) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the tables to this Markdown file")
    parser.add_argument("--data", type=Path, default=SCRATCH, metavar="DIR", help="where the servers keep their data")
    return parser


def entry(main: Callable[[], None]) -> None:
    """Runs a benchmark; what went wrong is said in one text, with exit code 1."""
    try:
        main()
    except BenchError as error:
        sys.exit(f"no result: {error}")


def hand_over(report: Report, title: str, tables: list[Table], args: argparse.Namespace) -> None:
    machine = f"Machine: {report.machine}"
    body = "\n\n".join(str(table) for table in tables if table.rows)
    if args.json:
        print(msgspec.json.encode(report).decode())
    else:
        print(f"{title}\n{machine}\n\n{body}")
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(f"# {title}\n\nCommand: `{report.command}`\n\n{machine}\n\n{body}\n")
        progress(f"written: {args.out}")
