"""AWS Signature Version 4: what proves that a request comes from who has the secret key."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from msgspec import Struct

_ALGORITHM = "AWS4-HMAC-SHA256"
_SERVICE = "sqs"


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
    signed = {name.lower(): " ".join(value.split()) for name, value in (*headers.items(), *added.items())}
    names = ";".join(sorted(signed))
    scope = f"{time[:8]}/{region}/{_SERVICE}/aws4_request"
    request = _canonical(method, path, signed, names, body)
    text = f"{_ALGORITHM}\n{time}\n{scope}\n{_sha256(request.encode())}"
    signature = _hmac(_signing_key(credentials.secret_key, scope), text).hex()
    added["Authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return added


def _canonical(method: str, path: str, headers: Mapping[str, str], names: str, body: bytes) -> str:
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    return f"{method}\n{quote(path, safe='/~')}\n\n{lines}\n{names}\n{_sha256(body)}"


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    return key


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
