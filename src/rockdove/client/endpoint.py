"""The address of a service."""

import os
from urllib.parse import urlsplit

from msgspec import Struct

DEFAULT_ENDPOINT = "http://127.0.0.1:9324"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Endpoint(Struct, frozen=True):
    """A parsed ``http://host:port`` or ``https://host:port``, perhaps with a path that a proxy wants."""

    url: str
    host: str
    port: int
    tls: bool
    path: str

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS["https" if self.tls else "http"] else f"{host}:{self.port}"


def parse_endpoint(url: str | None = None) -> Endpoint:
    """Without a URL, the environment's ``ROCKDOVE_ENDPOINT`` or the default. Raises ValueError."""
    url = url or os.environ.get("ROCKDOVE_ENDPOINT") or DEFAULT_ENDPOINT
    # What stands before an @ may be a password.
    seen = "have a user's name or password" if "@" in url else f"be {url!r}"
    advice = f"the endpoint must look like {DEFAULT_ENDPOINT}, and not {seen}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(advice) from None
    is_plain = not (parts.query or parts.fragment or parts.username) and url.isascii() and url.isprintable()
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or not is_plain or " " in url:
        raise ValueError(advice)
    path = parts.path.rstrip("/") + "/"
    return Endpoint(
        url=url.rstrip("/"),
        host=parts.hostname,
        port=port or _DEFAULT_PORTS[parts.scheme],
        tls=parts.scheme == "https",
        path=path,
    )
