"""SigV4, with botocore as the oracle."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given, settings
from hypothesis import strategies as st

from rockdove.wire.signature import Credentials, sign

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)

_name = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", min_size=1).map(lambda text: f"X-{text}")
_value = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))
# Names differ in more than their case, as those of a request do.
_headers = st.dictionaries(_name, _value, max_size=4).filter(
    lambda found: (
        len({name.lower() for name in found}) == len(found) and not any(n.lower() == "x-amz-date" for n in found)
    )
)


def authorization_by_botocore(
    credentials: Credentials, region: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> str:
    request = AWSRequest(method, f"http://{headers['Host']}{path}", headers=headers, data=body)
    request.context["timestamp"] = NOW.strftime("%Y%m%dT%H%M%SZ")
    auth = SigV4Auth(BotoCredentials(credentials.access_key, credentials.secret_key, credentials.token), "sqs", region)
    _freeze(auth, request)
    return str(request.headers["Authorization"])


def _freeze(auth: Any, request: AWSRequest) -> None:
    """What `SigV4Auth.add_auth` does, but at a time of ours."""
    auth._modify_request_before_signing(request)
    canonical = auth.canonical_request(request)
    auth._inject_signature_to_request(request, auth.signature(auth.string_to_sign(request, canonical), request))


@pytest.mark.parametrize("token", [None, "temporary"])
@settings(deadline=None)
@given(headers=_headers, body=st.binary(max_size=200), region=st.sampled_from(["us-east-1", "eu-central-1"]))
def test_the_signature_is_botocores(token: str | None, headers: dict[str, str], body: bytes, region: str) -> None:
    credentials = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    given_headers = {"Host": "127.0.0.1:9324", "Content-Type": "application/x-amz-json-1.0", **headers}
    added = sign(credentials, region, "POST", "/", given_headers, body, NOW)
    expected = authorization_by_botocore(credentials, region, "POST", "/", given_headers, body)
    assert added["Authorization"] == expected
    assert added["X-Amz-Date"] == "20260203T040506Z"
    assert added.get("X-Amz-Security-Token") == token


@pytest.mark.parametrize("path", ["/", "/queues/", "/a b/ü/"])
def test_paths_are_signed_as_botocore_does(path: str) -> None:
    credentials = Credentials("key", "secret")
    headers = {"Host": "example.test"}
    added = sign(credentials, "us-east-1", "POST", path, headers, b"", NOW)
    assert added["Authorization"] == authorization_by_botocore(credentials, "us-east-1", "POST", path, headers, b"")


def test_credentials_do_not_tell_their_secrets() -> None:
    shown = repr(Credentials("key", "hush", "token-hush"))
    assert "key" in shown
    assert "hush" not in shown
