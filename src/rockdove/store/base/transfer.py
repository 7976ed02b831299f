"""Moving messages from one physical queue to another in one step: a capability of stores."""

from collections.abc import Sequence
from typing import Protocol

from rockdove.store.base.done import Done
from rockdove.store.base.physical import Appended, Draft, Physical


class Transfers(Protocol):
    """A store without them appends once by a key, and the caller removes then; see `rockdove.broker.transfer`."""

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        """Remove entries here, append messages there, both or neither. An id that is gone takes its draft along."""
