"""How far a watch has come: the one file whose replacement makes a batch done."""

from typing import Final

import msgspec

# Raised when a name changes its meaning or goes away; a watch refuses what another version has left.
FORMAT: Final = 1
# Files with problems that are named; all are counted.
NAMED: Final = 20


class Problem(msgspec.Struct, frozen=True):
    path: str
    what: str


class Piece(msgspec.Struct, frozen=True):
    """Messages that are remembered: where, how many, and the time of the newest, microseconds since 1970."""

    name: str
    rows: int
    last_us: int


class Progress(msgspec.Struct, kw_only=True):
    """Times are microseconds since 1970. Counts are those of all batches.

    Windows that end up to `closed_us` are closed. Those that end up to `remembered_us` are in `pieces`, too.
    """

    format: int = FORMAT
    trace: str
    window_us: int
    batch: int = -1
    closed_us: int | None = None
    remembered_us: int | None = None
    newest_us: int | None = None
    files: int = 0
    corrupt: int = 0
    removed: int = 0
    events: int = 0
    # Events that the files promised, and that could not be read.
    unread: int = 0
    late: int = 0
    problems: list[Problem] = []
    # Events that are kept: those of open windows, and of such as have closed a moment ago.
    retained: str | None = None
    retained_rows: int = 0
    pieces: list[Piece] = []
    # Files that are complete under a hidden name, and what they are to be called.
    publish: dict[str, str] = {}

    @property
    def remembered_rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def name(self, problems: list[Problem]) -> list[Problem]:
        return [*self.problems, *problems][-NAMED:]


def encode(progress: Progress) -> bytes:
    return msgspec.json.format(msgspec.json.encode(progress), indent=2) + b"\n"


def decode(text: bytes) -> Progress:
    """Raises `ValueError`: not such a file, or one of another format."""
    found = msgspec.json.decode(text, type=Progress)
    if found.format != FORMAT:
        raise ValueError(f"format {found.format}, not {FORMAT}")
    return found
