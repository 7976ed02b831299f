"""AWS Signature Version 4: what proves that a request comes from who has the secret key."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from msgspec import Struct

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "sqs"
# For which requests may be signed: those on topics by SNS's SDKs.
SERVICES = (SERVICE, "sns")
TERMINATOR = "aws4_request"


class Credentials(Struct, frozen=True):
    """A key pair. The token is what temporary credentials have besides."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        """Without the secrets: this may end up in a log."""
        return f"Credentials({self.access_key!r})"


def sign(
    credentials: Credentials,
    region: str,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime | None = None,
) -> dict[str, str]:
    """The headers to add to a request without query string. Those given, ``Host`` among them, are signed."""
    time = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    added = {"X-Amz-Date": time}
    if credentials.token is not None:
        added["X-Amz-Security-Token"] = credentials.token
    signed = {name.lower().encode(): fold(value.encode()) for name, value in (*headers.items(), *added.items())}
    names = sorted(signed)
    scope = f"{time[:8]}/{region}/{SERVICE}/{TERMINATOR}"
    target = canonical_path(path.encode()) + b"\n"
    request = canonical(method.encode(), target, names, signed, sha256(body))
    signature = hmac.digest(signing_key(credentials.secret_key, scope), text_to_sign(time, scope, request), "sha256")
    added["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={b';'.join(names).decode()}, "
        f"Signature={signature.hex()}"
    )
    return added


# What is signed. All of it is bytes, as they are on the wire.


def canonical(
    method: bytes, target: bytes, names: Sequence[bytes], headers: Mapping[bytes, bytes], body_sha256: bytes
) -> bytes:
    """The canonical request. ``target`` is path and query with a line break between."""
    lines = b"".join([b"%b:%b\n" % (name, headers[name]) for name in names])
    return b"\n".join((method, target, lines, b";".join(names), body_sha256))


def fold(value: bytes) -> bytes:
    """A header's value without white space around it, and with one space where there were more."""
    return b" ".join(value.split())


def canonical_path(path: bytes) -> bytes:
    """Without dot segments and doubled slashes, and encoded once more than it is on the wire."""
    kept: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del kept[-1:]
        elif segment not in (b"", b"."):
            kept.append(segment)
    inner = b"/" + b"/".join(kept)
    return quote(inner + b"/" if kept and path.endswith(b"/") else inner, safe="/~").encode()


def text_to_sign(time: str, scope: str, request: bytes) -> bytes:
    return f"{ALGORITHM}\n{time}\n{scope}\n".encode() + sha256(request)


def signing_key(secret: str, scope: str) -> bytes:
    """The key for one day, region and service: ``scope`` is ``YYYYMMDD/region/service/aws4_request``."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def sha256(data: bytes) -> bytes:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest().encode()
