"""What a signed request says about itself: whose key, of which time, over which headers; in a header or in the URL."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote_from_bytes

from msgspec import Struct

from rockdove.core.errors import (
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from rockdove.wire.form import MAX_PARAMETERS, too_many_parameters, unquote
from rockdove.wire.signature import ALGORITHM, SERVICE, SERVICES, TERMINATOR, fold

# A presigned URL is good for at most a week.
MAX_EXPIRES_S = 7 * 24 * 3600
# Those of SDKs have a few hundred bytes. It is taken apart before anybody knows whose it is.
MAX_AUTHORIZATION = 8_192

_TIME = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_EXPIRES = re.compile(r"\d{1,6}", re.ASCII)
_SIGNATURE = re.compile(rb"[0-9a-f]{64}")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SCHEME = ALGORITHM.encode()
_TOKEN = b"x-amz-security-token"

Pairs = list[tuple[bytes, bytes]]


# Parameters of a presigned URL. Others that begin alike mean nothing to a signature.
_WANTED = (
    b"X-Amz-Algorithm",
    b"X-Amz-Credential",
    b"X-Amz-Date",
    b"X-Amz-Expires",
    b"X-Amz-SignedHeaders",
    b"X-Amz-Signature",
)
_SIGNING = frozenset((*_WANTED, b"X-Amz-Security-Token"))


class Claim(Struct):
    """A signature as the request has it. ``scope`` is ``date/region/service/aws4_request``.

    ``names`` are the signed headers in order; ``expires_s`` is None for a signature in the header; ``pairs`` are the
    parameters of the query that are signed.
    """

    access_key: str
    scope: str
    time: str
    seconds: int
    names: list[bytes]
    signature: bytes
    pairs: Pairs
    expires_s: int | None = None

    def queries(self) -> list[bytes]:
        """The ways in which the query may have been signed. It takes its time: look first whether there is such a key.

        As it is on the wire, in order, which is what botocore signs, with an empty parameter where two & follow each
        other; without such; and in the encoding that AWS documents. All stand for the same parameters and no others,
        so that any may be what was signed.
        """
        given = [pair for pair in self.pairs if any(pair)]
        strict = [(_encoded(name), _encoded(value)) for name, value in given]
        ways = (self.pairs, given, strict)
        return list(dict.fromkeys(b"&".join(b"%b=%b" % pair for pair in sorted(each)) for each in ways))


def gathered(headers: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Headers by lower-case names, with folded values; those that come more than once have them all, in order."""
    found: dict[bytes, bytes] = {}
    for name, value in headers.items():
        lower = name.lower()
        found[lower] = found[lower] + b"," + fold(value) if lower in found else fold(value)
    return found


def read(headers: Mapping[bytes, bytes], query: bytes) -> Claim:
    """``headers`` are gathered ones. Raises what is wrong with a claim that cannot be checked at all."""
    if query.count(b"&") >= MAX_PARAMETERS:
        raise too_many_parameters()
    pairs = [(name, value) for name, _, value in (pair.partition(b"=") for pair in query.split(b"&"))] if query else []
    signing = _signing(pairs)
    authorization = headers.get(b"authorization")
    if authorization is not None and signing:
        raise IncompleteSignature("The request is signed twice: in the Authorization header and in the URL. Use one.")
    if _TOKEN in headers or b"X-Amz-Security-Token" in signing:
        raise InvalidClientTokenId(
            "This service has no temporary credentials: leave the session token (X-Amz-Security-Token) away."
        )
    if authorization is not None:
        return _by_header(authorization, headers, pairs)
    if signing:
        return _by_url(signing, pairs)
    if any(name in (b"AWSAccessKeyId", b"SignatureVersion") for name, _ in pairs):
        raise IncompleteSignature(f"Only signature version 4 ({ALGORITHM}) is supported.")
    raise MissingAuthenticationToken()


def _by_header(authorization: bytes, headers: Mapping[bytes, bytes], pairs: Pairs) -> Claim:
    if len(authorization) > MAX_AUTHORIZATION:
        raise IncompleteSignature(f"The Authorization header must be at most {MAX_AUTHORIZATION} bytes long.")
    scheme, _, rest = authorization.partition(b" ")
    if scheme != _SCHEME:
        raise IncompleteSignature(f"The Authorization header must begin with {ALGORITHM}.")
    parts = dict(_part(part) for part in rest.split(b",") if part.strip())
    missing = [name for name in ("Credential", "SignedHeaders", "Signature") if not parts.get(name.encode())]
    if missing:
        raise IncompleteSignature(f"The Authorization header lacks {', '.join(missing)}.")
    access_key, scope = _credential(parts[b"Credential"])
    time, seconds = _header_time(headers)
    return Claim(
        access_key=access_key,
        scope=_scope(scope, time),
        time=time,
        seconds=seconds,
        names=_names(parts[b"SignedHeaders"]),
        signature=_signature(parts[b"Signature"]),
        pairs=pairs,
    )


def _part(part: bytes) -> tuple[bytes, bytes]:
    name, _, value = part.strip().partition(b"=")
    return name, value


def _by_url(signing: Mapping[bytes, bytes], pairs: Pairs) -> Claim:
    missing = [name.decode() for name in _WANTED if not signing.get(name)]
    if missing:
        raise IncompleteSignature(f"The URL lacks {', '.join(missing)}.")
    if signing[b"X-Amz-Algorithm"] != _SCHEME:
        raise IncompleteSignature(f"X-Amz-Algorithm must be {ALGORITHM}.")
    access_key, scope = _credential(signing[b"X-Amz-Credential"])
    time = signing[b"X-Amz-Date"].decode("latin-1")
    expires = signing[b"X-Amz-Expires"].decode("latin-1")
    if not _EXPIRES.fullmatch(expires) or not 1 <= int(expires) <= MAX_EXPIRES_S:
        raise IncompleteSignature(f"X-Amz-Expires must be 1 to {MAX_EXPIRES_S} seconds.")
    return Claim(
        access_key=access_key,
        scope=_scope(scope, time),
        time=time,
        seconds=seconds_of(time),
        names=_names(signing[b"X-Amz-SignedHeaders"]),
        signature=_signature(signing[b"X-Amz-Signature"]),
        pairs=[pair for pair in pairs if pair[0] != b"X-Amz-Signature"],
        expires_s=int(expires),
    )


def _signing(pairs: Pairs) -> dict[bytes, bytes]:
    """The parameters of a presigned URL, decoded."""
    found: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name in _SIGNING:
            if name in found:
                raise IncompleteSignature(f"The URL has {name.decode('latin-1')} twice.")
            found[name] = _decoded(value)
    return found


def _encoded(text: bytes) -> bytes:
    return quote_from_bytes(_decoded(text), safe="-_.~").encode()


def _decoded(text: bytes) -> bytes:
    return text if _BAD_ESCAPE.search(text) else unquote(text.replace(b"+", b" "))


def _credential(text: bytes) -> tuple[str, str]:
    """The access key and the scope."""
    parts = text.decode("latin-1").rsplit("/", 4)
    if len(parts) != 5 or not all(parts):
        raise IncompleteSignature(f"Credential must be KEY/YYYYMMDD/REGION/{SERVICE}/{TERMINATOR}.")
    if parts[3] not in SERVICES:
        raise SignatureDoesNotMatch(f"Credential should be scoped to correct service: '{SERVICE}'.")
    if parts[4] != TERMINATOR:
        raise SignatureDoesNotMatch(f"Credential should be scoped with a valid terminator: '{TERMINATOR}'.")
    return parts[0], "/".join(parts[1:])


def _scope(scope: str, time: str) -> str:
    if scope[:9] != f"{time[:8]}/":
        raise SignatureDoesNotMatch("The date of the credential scope is another one than that of the request.")
    return scope


def _header_time(headers: Mapping[bytes, bytes]) -> tuple[str, int]:
    text = (headers.get(b"x-amz-date") or headers.get(b"date") or b"").decode("latin-1")
    if not text:
        raise IncompleteSignature("A signed request must have the header X-Amz-Date or Date.")
    if not _TIME.fullmatch(text) and b"x-amz-date" not in headers:
        try:
            text = parsedate_to_datetime(text).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        except (ValueError, TypeError, OverflowError):
            raise _bad_time() from None
    return text, seconds_of(text)


def seconds_of(time: str) -> int:
    """A time such as ``20260203T040506Z`` in seconds since 1970."""
    if not _TIME.fullmatch(time):
        raise _bad_time()
    try:
        return int(datetime.strptime(time, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise _bad_time() from None


def _bad_time() -> IncompleteSignature:
    return IncompleteSignature("The date of a signature must look like 20260203T040506Z.")


def _names(text: bytes) -> list[bytes]:
    names = text.split(b";")
    if names != sorted(set(names)) or text != text.lower() or not all(names):
        raise IncompleteSignature("SignedHeaders must be names in lower case, in order, with ; between.")
    return names


def _signature(text: bytes) -> bytes:
    if not _SIGNATURE.fullmatch(text):
        raise IncompleteSignature("Signature must be 64 hexadecimal digits in lower case.")
    return text
