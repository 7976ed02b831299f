"""What went wrong, as a status and words that say what to do."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.errors import (
    AccessDenied,
    Fault,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    QueueDoesNotExist,
    RockdoveError,
)

# With these the service does not know the caller any more.
UNKNOWN_CALLER = (InvalidClientTokenId, MissingAuthenticationToken)


class Wrong(RockdoveError):
    """What a form has cannot be done. ``field``: the name of the input that it is about."""

    def __init__(self, text: str, field: str | None = None, status: int = 400) -> None:
        self.text = text
        self.field = field
        self.status = status
        super().__init__(text)


class SignedOut(RockdoveError):
    """Nobody is signed in, or not any more."""


def words(error: RockdoveError) -> str:
    """For people who look at a page."""
    match error:
        case Wrong():
            return error.text
        case SignedOut():
            return "You are signed out. Sign in again; what you have typed is kept."
        case QueueDoesNotExist():
            return "There is no such queue any more. Go back to the list of queues."
        case AccessDenied():
            return f"This account may not do that: {error.message}"
        case Fault():
            return error.message or error.code
        case Unreachable():
            return f"The service at {error.endpoint} cannot be reached: {error.reason}. {_sentence(str(error))}"
        case UnexpectedAnswer():
            return f"Something else than a Rockdove service answers: {error}."
    return str(error)


def _sentence(text: str) -> str:
    """The advice at the end of a line of the client."""
    advice = text.rpartition("; ")[2]
    return f"{advice[:1].upper()}{advice[1:]}." if advice else ""


def status_of(error: RockdoveError) -> int:
    match error:
        case Wrong():
            return error.status
        case SignedOut():
            return 401
        case QueueDoesNotExist():
            return 404
        case Fault():
            return error.status if error.status in (403, 404, 429) or error.status >= 500 else 400
        case Unreachable():
            return 503
        case UnexpectedAnswer():
            return 502
    return 400


# Our own pages ask for the status in the body: browsers report other ones as errors of the page.
IN_BODY = "rockdove-status"


def told(error: RockdoveError, request: Request) -> JSONResponse:
    """The answer to an action that failed."""
    status = status_of(error)
    body: dict[str, Any] = {"ok": False, "error": words(error), "status": status}
    if isinstance(error, Wrong) and error.field is not None:
        body["field"] = error.field
    if isinstance(error, SignedOut):
        body["signed_out"] = True
    return JSONResponse(body, 200 if request.headers.get(IN_BODY) == "body" else status)
