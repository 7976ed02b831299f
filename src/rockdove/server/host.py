"""The names under which the service may be called: whoever owns another can let it point here, and so can his web page.

A page that came from such a name is of the service's own origin then, and browsers say nothing of it (DNS rebinding).
So where nobody has to sign, the name in the header Host must be one that nobody else can have.
"""

import re
from collections.abc import Sequence

from rockdove.core.errors import AccessDenied, RockdoveError
from rockdove.server.seldom import Seldom

_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")
# Addresses, and the machine itself.
_LOCAL = re.compile(rb"(\[[0-9a-f:.]+\]|[0-9]+(\.[0-9]+){3}|([a-z0-9_-]+\.)*localhost)(:[0-9]{1,5})?")
_PORT = re.compile(rb":[0-9]{1,5}\Z")
# As clients have written them; few, and short.
_MOST_KNOWN = 256
# A name has 253 characters at most, and a port five.
LONGEST = 270

FOREIGN = "The service does not answer under this name; --allow-host NAME allows it, or call it by its address."


class HostError(RockdoveError):
    """Something that is no name of a host was given for one."""


def check(name: str) -> str:
    """A name as clients write it, without a port."""
    if _NAME.fullmatch(name.lower()):
        return name.lower()
    raise HostError(f"{name!r} is not the name of a host; write it without a scheme and a port, such as queues.lan")


class Hosts:
    """``known`` has values of the header that were found to be good, as they were written."""

    def __init__(self, own: str, allowed: Sequence[str], any_name: bool) -> None:
        """``own`` is what the service was told to listen on; with ``any_name`` others decide who comes in."""
        self._names = frozenset(name.lower().encode() for name in (own, *allowed))
        self._any = any_name
        self.known: set[bytes | None] = set()
        self._seldom = Seldom()

    def is_own(self, host: bytes | None) -> bool:
        """Of a request without the header, which HTTP/1.0 permits, no browser can be the sender."""
        if host is None or self._any or host in self.known:
            return True
        lowered = host.lower()
        if len(host) > LONGEST or not (_LOCAL.fullmatch(lowered) or _PORT.sub(b"", lowered) in self._names):
            return False
        if len(self.known) >= _MOST_KNOWN:
            self.known.clear()
        self.known.add(host)
        return True

    def admit(self, host: bytes | None, peer: str) -> None:
        """Raises the fault of a request under a name that is not ours."""
        if not self.is_own(host):
            text = "a request under a name that --allow-host does not allow is refused"
            self._seldom.warn("foreign-host", text, address=peer)
            raise AccessDenied(FOREIGN)
