"""How a command ended, and how tests run one."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from tests.support.environment import isolated


def buffered() -> dict[str, str]:
    """The environment of a program whose output is buffered, as it is unless somebody asks for the opposite."""
    return {name: value for name, value in isolated().items() if name != "PYTHONUNBUFFERED"}


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.out)


class Cli(Protocol):
    """`cli("queue", "list", "--json")`; ``stdin`` is what it can read."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Outcome: ...
