"""What the benches of the papers' experiments have in common when they tell their results."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rockdove.cli.output import Output


def some(value: float | None, form: str) -> str:
    """A cell of a table."""
    return "-" if value is None else form.format(value)


def tell_claims(holds: Mapping[str, bool], output: Output) -> None:
    for claim, is_true in holds.items():
        output.line(f"{'yes' if is_true else 'NO'}: {claim}")


def write(report: msgspec.Struct, picture: bytes, target: Path, name: str) -> None:
    """As JSON, with the picture beside it."""
    target.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(report), indent=2)
    (target / f"{name}.json").write_bytes(text + b"\n")
    (target / f"{name}.svg").write_bytes(picture)
