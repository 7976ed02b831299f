"""Where a request is meant to go: the path in its target, and the service's address as its client sees it."""

import asyncio
import ipaddress
import re
from urllib.parse import unquote

from rockdove.server.host import LONGEST

# A host as proxies tell it, perhaps with a port. What else they pass on must not get into a queue's URL.
_HOST = re.compile(rb"[A-Za-z0-9._:\[\]-]{1,270}")
_PORT = re.compile(rb"[0-9]{1,5}")


def lower(headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {name.lower(): value for name, value in headers.items()}


def origin_form(url: bytes) -> bytes:
    """A request's target without the scheme and host that clients of proxies put before it."""
    if url.startswith(b"/"):
        return url
    _, _, rest = url.partition(b"://")
    slash, query = rest.find(b"/"), rest.find(b"?")
    return b"/" + rest[query:] if query != -1 and not -1 < slash < query else rest[slash:] if slash != -1 else b"/"


def decoded(path: bytes) -> str:
    return unquote(path.decode("latin-1"), encoding="utf-8", errors="replace")


def base_url(headers: dict[bytes, bytes], transport: asyncio.Transport | None, trust_proxy: bool) -> str:
    """``scheme://host``; the names of the headers are in lower case."""
    scheme = b"http" if transport is None or transport.get_extra_info("sslcontext") is None else b"https"
    host = headers.get(b"host")
    if trust_proxy:
        said = _first(headers.get(b"x-forwarded-proto"))
        scheme = said.lower() if said is not None and said.lower() in (b"http", b"https") else scheme
        host = _matching(_HOST, headers.get(b"x-forwarded-host")) or host
        port = _matching(_PORT, headers.get(b"x-forwarded-port"))
        if port is not None and host is not None and b":" not in host.rpartition(b"]")[2]:
            host = host if port in (b"80", b"443") else host + b":" + port
    if not host or len(host) > LONGEST:
        # A listing has it in every URL.
        name = ("127.0.0.1", 0) if transport is None else transport.get_extra_info("sockname")
        host = f"{name[0]}:{name[1]}".encode()
    return (scheme + b"://" + host).decode("latin-1")


def _first(value: bytes | None) -> bytes | None:
    """The first of several values that proxies have added: the one nearest to the client."""
    return value.split(b",")[0].strip() or None if value is not None else None


def _matching(pattern: re.Pattern[bytes], value: bytes | None) -> bytes | None:
    """The first value, unless it is none that could be meant."""
    first = _first(value)
    return first if first is not None and pattern.fullmatch(first) else None


def client_address(headers: dict[bytes, bytes], peer: str, trust_proxy: bool) -> str:
    """Where a request comes from; the names of the headers are in lower case.

    Of the addresses in X-Forwarded-For the last is the one that our proxy has seen; those before it are hearsay.
    """
    said = headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip() if trust_proxy else b""
    for text in (said.decode("latin-1"), peer):
        try:
            found = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            continue
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return str(mapped or found)
    return peer


def forwarded_hosts(headers: dict[bytes, bytes]) -> list[bytes]:
    """What a client behind a trusted proxy may have signed as its Host; the names of the headers are in lower case."""
    host, port = _first(headers.get(b"x-forwarded-host")), _first(headers.get(b"x-forwarded-port"))
    if host is None:
        return []
    return [host] if port is None or b":" in host.rpartition(b"]")[2] else [host, host + b":" + port]
