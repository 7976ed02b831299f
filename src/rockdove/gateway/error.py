"""Why what a device has sent cannot be taken, in words that each protocol puts into its own code."""

from enum import Enum

from rockdove.core.errors import (
    AccessDenied,
    Fault,
    InvalidClientTokenId,
    InvalidMessageContents,
    MissingAuthenticationToken,
    QueueDoesNotExist,
    RequestThrottled,
    RequestTooLarge,
    RockdoveError,
    SignatureDoesNotMatch,
    Throttling,
)


class Why(Enum):
    """What kind of refusal it is."""

    NOBODY = "nobody"
    DENIED = "denied"
    NO_QUEUE = "no queue"
    CONTENT = "content"
    TOO_LARGE = "too large"
    OTHER = "other"


class Refused(RockdoveError):
    """A message that will not be taken, however often it is sent."""

    def __init__(self, why: Why, text: str) -> None:
        self.why = why
        super().__init__(text)


_KINDS: tuple[tuple[tuple[type[Fault], ...], Why], ...] = (
    ((InvalidClientTokenId, MissingAuthenticationToken, SignatureDoesNotMatch), Why.NOBODY),
    ((AccessDenied,), Why.DENIED),
    ((QueueDoesNotExist,), Why.NO_QUEUE),
    ((InvalidMessageContents,), Why.CONTENT),
    ((RequestTooLarge,), Why.TOO_LARGE),
)


def refusal(fault: Fault) -> Refused | None:
    """None for a fault that passes."""
    if fault.status >= 500 or not fault.sender or isinstance(fault, Throttling | RequestThrottled):
        return None
    for kinds, why in _KINDS:
        if isinstance(fault, kinds):
            return Refused(why, str(fault))
    return Refused(Why.OTHER, str(fault))
