"""Requests signed by botocore at a time of the test's choosing: the oracle for the verification of signatures."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "us-east-1"
HOST = "queue.test:9324"


@dataclass(frozen=True)
class Wire:
    """A request as it goes over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def parts(self) -> tuple[bytes, bytes, dict[bytes, bytes], bytes]:
        headers = {name.encode(): value.encode() for name, value in self.headers.items()}
        return self.method.encode(), self.target.encode(), headers, self.body

    def header(self, name: str, value: str | None) -> "Wire":
        """With another value of a header, or without it."""
        kept = {key: old for key, old in self.headers.items() if key.lower() != name.lower()}
        return replace(self, headers=kept if value is None else {**kept, name: value})


@dataclass(frozen=True)
class Plan:
    """A request before it is signed."""

    method: str = "POST"
    target: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%SZ")


def by_header(
    plan: Plan, access_key: str, secret: str, at: float, *, region: str = REGION, token: str | None = None
) -> Wire:
    return _signed(SigV4Auth(Credentials(access_key, secret, token), "sqs", region), plan, at)


def by_url(plan: Plan, access_key: str, secret: str, at: float, *, expires: int = 60, region: str = REGION) -> Wire:
    return _signed(SigV4QueryAuth(Credentials(access_key, secret), "sqs", region, expires), plan, at)


def _signed(auth: Any, plan: Plan, at: float) -> Wire:
    headers = {"Host": HOST, **plan.headers}
    request = AWSRequest(plan.method, f"http://{headers['Host']}{plan.target}", headers=headers, data=plan.body)
    request.context["timestamp"] = stamp(at)
    auth._modify_request_before_signing(request)
    canonical = auth.canonical_request(request)
    auth._inject_signature_to_request(request, auth.signature(auth.string_to_sign(request, canonical), request))
    # Not urlsplit's fragment: a target has none, and tests have no # in it.
    parts = urlsplit(request.url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Wire(plan.method, target, dict(request.headers.items()), plan.body if request.data else b"")
