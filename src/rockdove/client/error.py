"""What can go wrong between a client and the service, besides the faults that the service itself reports."""

from rockdove.core.errors import RockdoveError


class Unreachable(RockdoveError):
    """The service could not be asked, or did not answer."""

    def __init__(self, endpoint: str, reason: str, advice: str) -> None:
        self.endpoint = endpoint
        self.reason = reason
        super().__init__(f"cannot reach {endpoint}: {reason}; {advice}")


class UnexpectedAnswer(RockdoveError):
    """Something answered that does not speak as the service does."""

    def __init__(self, endpoint: str, what: str, status: int = 0) -> None:
        self.endpoint = endpoint
        self.status = status
        super().__init__(f"{endpoint} answered {what}; make sure that this is the address of a Rockdove service")


class Lost(Exception):
    """A request failed on its way. ``arrived`` is whether the service may have got all of it, and may have acted."""

    def __init__(self, reason: str, arrived: bool) -> None:
        self.reason = reason
        self.arrived = arrived
        super().__init__(reason)


def unreachable(endpoint: str, lost: Lost) -> Unreachable:
    """What the caller is told in the end."""
    if lost.arrived:
        return Unreachable(endpoint, lost.reason, "whether the request was carried out is not known")
    return Unreachable(endpoint, lost.reason, 'start the service with "rockdove serve", or choose another endpoint')
