"""What the console refuses before anything else, and what its answers carry."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from rockdove.console.guard import MOST_BYTES, Guard
from tests.support.asgi import Answer, ask

HERE = {"host": "127.0.0.1:9325"}
FROM_HERE = {**HERE, "origin": "http://127.0.0.1:9325"}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


def answer(
    method: str, headers: dict[str, str], pieces: tuple[bytes, ...] = (b"",), *, accounts: bool = False, path: str = "/"
) -> Answer:
    async def is_open() -> bool:
        return not accounts

    return asyncio.run(ask(Guard(app, "queues.lan", is_open), method, path, headers, pieces))


def test_answers_let_a_page_load_nothing_from_elsewhere_and_run_nothing_that_is_written_into_it() -> None:
    headers = answer("GET", HERE).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_what_does_not_change_may_be_kept_but_is_asked_for_again() -> None:
    assert answer("GET", HERE, path="/static/page.js").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "headers",
    [
        FROM_HERE,
        {**HERE, "sec-fetch-site": "same-origin"},
        # A proxy in front that speaks TLS.
        {**HERE, "origin": "https://127.0.0.1:9325"},
    ],
)
def test_a_post_from_a_page_of_the_console_passes(headers: dict[str, str]) -> None:
    assert answer("POST", headers, (b"four",)).body == b"4 bytes"


@pytest.mark.parametrize(
    "headers",
    [
        HERE,
        {**HERE, "origin": "null"},
        {**HERE, "origin": "http://127.0.0.1:9326"},
        {**HERE, "origin": "http://elsewhere.example"},
        {**HERE, "origin": "http://127.0.0.1:9325.elsewhere.example"},
        {**HERE, "sec-fetch-site": "cross-site"},
        {**HERE, "sec-fetch-site": "same-site"},
        {**HERE, "origin": "http://elsewhere.example", "sec-fetch-site": "same-origin"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_post_from_anywhere_else_does_not(method: str, headers: dict[str, str]) -> None:
    refused = answer(method, headers)
    assert refused.status == 403
    assert "content-security-policy" in refused.headers


@pytest.mark.parametrize("host", ["localhost:9325", "LOCALHOST", "[::1]:9325", "10.1.2.3:80", "queues.lan:9325"])
def test_without_accounts_the_console_answers_under_addresses_and_its_own_name(host: str) -> None:
    assert answer("GET", {"host": host}).status == 200


@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.1.elsewhere.example:9325", "", "localhost.example"])
def test_without_accounts_it_answers_under_no_name_that_others_can_own(host: str) -> None:
    assert answer("GET", {"host": host}).status == 421


def test_with_accounts_it_answers_under_any_name() -> None:
    assert answer("GET", {"host": "console.example"}, accounts=True).status == 200


def test_a_body_is_bounded_whether_its_length_is_told_or_not() -> None:
    assert answer("POST", {**FROM_HERE, "content-length": str(MOST_BYTES + 1)}).status == 413
    assert answer("POST", {**FROM_HERE, "content-length": "many"}).status == 413
    with pytest.raises(ClientDisconnect):
        answer("POST", FROM_HERE, (b"x" * MOST_BYTES, b"x"))
