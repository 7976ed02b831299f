"""Where one comes to after signing in, and forms that are none."""

import asyncio

import pytest

from rockdove.console.app import make_app
from rockdove.console.guard import MOST_BYTES
from rockdove.console.setting import Settings
from rockdove.console.signin import _local
from tests.support.asgi import ask
from tests.support.port import free_port


@pytest.mark.parametrize("address", ["/", "/elastic", "/queues/000000000000/jobs?tab=send"])
def test_to_the_page_that_was_wanted(address: str) -> None:
    assert _local(address) == address


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "elastic",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "https://elsewhere.example",
        "/a\r\nb",
        "/login",
    ],
)
def test_never_to_another_host(address: str | None) -> None:
    assert _local(address) == "/"


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_a_form_that_is_too_long_is_refused_in_words(path: str) -> None:
    application = make_app(Settings(endpoint=f"http://127.0.0.1:{free_port()}"))
    here = {"host": "127.0.0.1:9325", "origin": "http://127.0.0.1:9325"}
    answer = asyncio.run(ask(application, "POST", path, here, (b"x" * MOST_BYTES, b"x")))
    assert answer.status == 413
    assert b"That is too much at once." in answer.body
