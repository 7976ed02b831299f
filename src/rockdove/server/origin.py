"""Web pages that want to use the service: those of another origin are refused, unless they are allowed to."""

import re
from collections.abc import Sequence

from rockdove.core.errors import AccessDenied, RockdoveError

# Any page at all.
ANY = "*"

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
# Names of a service that nobody else can let point to it: addresses, and the machine itself.
_LOCAL = re.compile(rb"(\[[0-9a-f:.]+\]|[0-9.]+|([a-z0-9-]+\.)*localhost)(:[0-9]{1,5})?")
# Seconds for which a browser may remember what it was told.
_MAX_AGE_S = 600
# What scripts may see of an answer; SDKs look for all of them.
_EXPOSED = b"x-amzn-RequestId, x-amzn-query-error, Retry-After"


class OriginError(RockdoveError):
    """Something that is no origin was given for one."""


def check(origin: str) -> str:
    """An origin as browsers write it: scheme, host, and a port that is not the scheme's own."""
    lowered = origin.lower()
    if origin == ANY or _ORIGIN.fullmatch(lowered):
        return re.sub(r"(?<=^http:)(//.*):80$|(?<=^https:)(//.*):443$", r"\1\2", lowered)
    if lowered == "null":
        raise OriginError(
            'the origin "null" cannot be allowed: every page that hides its origin has it; serve the page over HTTP'
        )
    raise OriginError(
        f"{origin!r} is not an origin; write the scheme, the host and the port if it is not the usual one, such as "
        "https://console.example.com, or * for all"
    )


class Origins:
    """Which pages may ask, and what their browser has to be told so that it lets them see the answer."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = frozenset(origin.encode() for origin in allowed)
        self._all = ANY.encode() in self._allowed

    def admit(self, headers: dict[bytes, bytes], secure: bool) -> bytes:
        """The headers for the answer; their names in lower case. A foreign page that is not allowed is a fault.

        ``secure`` is whether the request came over TLS: so did the page, if it is ours.

        A page that a browser got from elsewhere must not command a service on its user's machine.
        """
        origin, host = headers.get(b"origin"), headers.get(b"host", b"")
        if origin is not None and (self._all or origin.lower() in self._allowed):
            return b"Access-Control-Allow-Origin: %b\r\nAccess-Control-Expose-Headers: %b\r\nVary: Origin\r\n" % (
                origin,
                _EXPOSED,
            )
        site = headers.get(b"sec-fetch-site", b"none")
        own = b"%b://%b" % (b"https" if secure else b"http", host.lower())
        foreign = origin is not None and origin.lower() != own
        if foreign or site not in (b"none", b"same-origin"):
            raise AccessDenied(
                "Requests from web pages of another origin are refused; --cors-origin can allow an origin."
            )
        if (origin is not None or site == b"same-origin") and not _LOCAL.fullmatch(host.lower()):
            # Whoever owns a name can let it point here, and his page then is of the same origin.
            raise AccessDenied(
                "Requests from web pages are refused where the service is called by a name, unless --cors-origin "
                "allows the page's origin."
            )
        return b""


def check_get(headers: dict[bytes, bytes]) -> None:
    """A request by GET that changes something and needs no valid signature must have a header that no page can send.

    Some browsers do not tell who asks when a page shows a picture, and its address may be one of this service. Names of
    headers are in lower case. Raises `AccessDenied`.
    """
    if b"authorization" not in headers and not any(name.startswith(b"x-amz-") for name in headers):
        raise AccessDenied(
            "A GET that changes something could come from any web page. Use POST, or send the header Authorization or "
            "X-Amz-Date."
        )


def check_page(headers: dict[bytes, bytes]) -> None:
    """The same, for requests that need no header at all: browsers give themselves away by their name.

    Raises `AccessDenied`.
    """
    if b"authorization" not in headers and headers.get(b"user-agent", b"").startswith(b"Mozilla/"):
        raise AccessDenied(
            "A GET that changes something could come from any web page. Send the header Authorization, or use a client "
            "that is no browser."
        )


def preflight(headers: dict[bytes, bytes]) -> bytes | None:
    """The headers that answer a browser's question before a request, if this is one, and its origin is admitted."""
    if b"origin" not in headers or b"access-control-request-method" not in headers:
        return None
    answer = b"Access-Control-Allow-Methods: GET, POST, DELETE\r\nAccess-Control-Max-Age: %d\r\n" % _MAX_AGE_S
    asked = headers.get(b"access-control-request-headers")
    if asked:
        answer += b"Access-Control-Allow-Headers: %b\r\n" % asked
    if headers.get(b"access-control-request-private-network") == b"true":
        answer += b"Access-Control-Allow-Private-Network: true\r\n"
    return answer
