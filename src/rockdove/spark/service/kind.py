"""Whether a service is Rockdove, which leases and publishes once, or another one that speaks SQS."""

from typing import Final

from rockdove.client import Retry, UnexpectedAnswer
from rockdove.core.errors import Fault
from rockdove.spark.service.place import SERVICE, QueuePlace

# What may be wrong before a service looks which operation is wanted.
_TELLS_NOTHING: Final = frozenset(
    {
        "QueueDoesNotExist",
        "AccessDeniedException",
        "MissingAuthenticationTokenException",
        "IncompleteSignatureException",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "RequestThrottled",
        "ThrottlingException",
    }
)
# What a proxy says for a service that does not answer it.
_GATEWAY: Final = (502, 503, 504)


def is_rockdove(place: QueuePlace) -> bool:
    """Asks for something that only Rockdove has, and that disturbs nothing. Raises what a queue that is not there does.

    A service that does not answer, or is out of order, is not taken for another one: that would change the promise.
    """
    if place.service != "auto":
        return place.service == "rockdove"
    # It is up, and has the queue, when this returns: the question after it needs less patience.
    with place.client() as client:
        client.queue_url(place.queue)
    with place.client(Retry()) as client:
        try:
            client.peek(place.queue, limit=1)
        except Fault as fault:
            if fault.shape in _TELLS_NOTHING or fault.status >= 500:
                fault.add_note(f"the option {SERVICE} says what the service is, if it does not tell")
                raise
            return False
        except UnexpectedAnswer as answer:
            if answer.status in _GATEWAY:
                raise
            return False
    return True
