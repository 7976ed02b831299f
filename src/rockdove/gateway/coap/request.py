"""What a device asks for: who it is, which queue it means, and what it sends."""

from aiocoap.message import Message
from aiocoap.numbers import ContentFormat
from msgspec import Struct

from rockdove.client import Basic, Bearer, Nobody, Outgoing
from rockdove.client.outgoing import AttributeValue
from rockdove.core.message import FORBIDDEN
from rockdove.gateway.error import Refused, Why
from rockdove.gateway.mapping import Mapping
from rockdove.gateway.message import outgoing
from rockdove.gateway.service import Identity

# Names of attributes.
PATH = "CoapPath"
PEER = "CoapPeer"
CONTENT_TYPE = "ContentType"
# What a query can say: who sends, and for FIFO queues which group and which message it is.
_PARAMETERS = frozenset(("token", "user", "secret", "group", "dedup"))


class Posted(Struct, frozen=True):
    """A message for a queue."""

    identity: Identity
    queue: str
    # Messages of one stay in order.
    device: str
    message: Outgoing


def posted(request: Message, mapping: Mapping) -> Posted:
    """Raises `Refused`."""
    given = _parameters(request)
    path = "/".join(request.opt.uri_path)
    queue = mapping.queue(path)
    if queue is None:
        raise Refused(Why.NO_QUEUE, "No queue stands for this path; /queues/NAME always does.")
    peer = _host(request)
    attributes: dict[str, AttributeValue] = {PATH: path, PEER: peer}
    if request.opt.content_format is not None:
        attributes[CONTENT_TYPE] = _media_type(request.opt.content_format)
    if FORBIDDEN.search(path):
        raise Refused(Why.NO_QUEUE, "The path has a character that queues cannot hold.")
    group = given.get("group")
    message = outgoing(request.payload, attributes, peer, queue, group, given.get("dedup"))
    return Posted(_identity(given), queue, group or peer, message)


def _parameters(request: Message) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in request.opt.uri_query:
        name, _, value = text.partition("=")
        if name not in _PARAMETERS or name in given or not value:
            known = ", ".join(sorted(_PARAMETERS))
            raise Refused(Why.OTHER, f"The query can have each of these once, with a value: {known}.")
        given[name] = value
    return given


def _identity(given: dict[str, str]) -> Identity:
    token, user, secret = given.get("token"), given.get("user"), given.get("secret")
    if (user is None) != (secret is None) or (token is not None and user is not None):
        raise Refused(Why.NOBODY, "Say who you are by token, or by user and secret.")
    try:
        if token is not None:
            return Bearer(token)
        return Nobody() if user is None or secret is None else Basic(user, secret)
    except ValueError as error:
        raise Refused(Why.NOBODY, f"This cannot be a token: {error}.") from None


def _host(request: Message) -> str:
    """The address, without the port: that changes with each restart of a device."""
    host = str(request.remote.hostinfo)
    return host.rpartition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]


def _media_type(number: int) -> str:
    try:
        return str(ContentFormat(number).media_type)
    except AttributeError:
        return str(int(number))
