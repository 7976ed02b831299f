"""How a workload fails, told from one process to another."""

from typing import Literal

from msgspec import Struct

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault, RockdoveError

Kind = Literal["unreachable", "refused", "failed"]

_DENIED = (401, 403)


class Trouble(Struct, frozen=True):
    """An error that went through a pipe: faults are classes made on the way, and do not."""

    kind: Kind
    text: str


class WorkloadFailed(RockdoveError):
    """The workload could not go on; ``kind`` tells whose fault it is."""

    def __init__(self, trouble: Trouble) -> None:
        self.kind = trouble.kind
        super().__init__(trouble.text)


def trouble_of(error: Exception, endpoint: str) -> Trouble:
    if isinstance(error, Unreachable | UnexpectedAnswer):
        return Trouble("unreachable", str(error))
    if isinstance(error, Fault):
        kind: Kind = "refused" if error.status in _DENIED else "failed"
        return Trouble(kind, f"{endpoint} refuses: {error.message.rstrip('.')} ({error.code})")
    return Trouble("failed", f"unexpected {type(error).__name__} in the workload: {error}")
