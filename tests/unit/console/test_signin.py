"""Where one comes to after signing in."""

import pytest

from rockdove.console.signin import _local


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
