"""Who may see what of the pages for operators."""

import asyncio

import pytest

from rockdove.core.account import Account
from rockdove.server.page import Page, Pages, is_loopback

TOKEN = "a-token-of-some-length"


class Visitor:
    """Somebody who asks, from anywhere."""

    def __init__(self, peer: str, **headers: str) -> None:
        self.peer = peer
        self.headers = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
        self.account = "000000000000"
        self.secure = False
        self.asked = (b"GET", b"/metrics", b"")
        self.shown: list[Page] = []

    def show(self, page: Page) -> None:
        self.shown.append(page)


def pages(token: str | None = TOKEN, behind_proxy: bool = False, trouble: str | None = None) -> Pages:
    async def metrics() -> bytes:
        return b"the metrics"

    def defect(error: Exception) -> None:
        raise error

    return Pages(lambda: trouble, metrics, defect, token, behind_proxy)


def ask(shown: Pages, visitor: Visitor, path: bytes) -> Page:
    async def ask() -> None:
        assert shown.show(visitor, path)
        while not visitor.shown:
            await asyncio.sleep(0)

    asyncio.run(ask())
    (page,) = visitor.shown
    return page


LOCAL = ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"]
FOREIGN = ["192.0.2.1", "10.0.0.1", "::ffff:192.0.2.1", "fe80::1%eth0", "2001:db8::1", "", "nonsense"]


@pytest.mark.parametrize("peer", LOCAL)
def test_this_machine_may_look(peer: str) -> None:
    assert is_loopback(peer)
    page = ask(pages(token=None), Visitor(peer), b"/metrics")
    assert (page.status, page.body) == (200, b"the metrics")


@pytest.mark.parametrize("peer", FOREIGN)
def test_others_may_not(peer: str) -> None:
    assert not is_loopback(peer)
    page = ask(pages(), Visitor(peer), b"/metrics")
    assert (page.status, page.extra) == (401, b"WWW-Authenticate: Bearer\r\n")
    assert b"--metrics-token-file" in page.body


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
def test_others_may_with_the_token(scheme: str) -> None:
    assert ask(pages(), Visitor("192.0.2.1", authorization=f"{scheme} {TOKEN}"), b"/metrics").status == 200


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer ä"],
)
def test_what_is_not_the_token(authorization: str) -> None:
    assert ask(pages(), Visitor("192.0.2.1", authorization=authorization), b"/metrics").status == 401


@pytest.mark.parametrize("authorization", ["Bearer", "Bearer ", "Bearer None"])
def test_without_a_token_nothing_is_one(authorization: str) -> None:
    assert ask(pages(token=None), Visitor("192.0.2.1", authorization=authorization), b"/metrics").status == 401


@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded", "via", "x_real_ip", "x_forwarded_host"])
def test_who_comes_through_a_proxy_on_this_machine_is_not_local(header: str) -> None:
    assert ask(pages(), Visitor("127.0.0.1", **{header: "127.0.0.1"}), b"/metrics").status == 401


def test_behind_a_trusted_proxy_nobody_is_local() -> None:
    assert ask(pages(behind_proxy=True), Visitor("127.0.0.1"), b"/metrics").status == 401
    assert (
        ask(pages(behind_proxy=True), Visitor("127.0.0.1", authorization=f"Bearer {TOKEN}"), b"/metrics").status == 200
    )


def test_an_account_may_look() -> None:
    shown = pages(token=None)
    signer = Account(id="000000000000", name="root", created_us=0, admin=True)
    shown.signer = lambda visitor: signer if visitor.peer == "192.0.2.1" else None
    assert ask(shown, Visitor("192.0.2.1"), b"/metrics").body == b"the metrics"
    assert ask(shown, Visitor("192.0.2.2"), b"/metrics").status == 401


@pytest.mark.parametrize(("peer", "told"), [("127.0.0.1", True), ("192.0.2.1", False)])
def test_why_it_is_not_ready_is_for_those_who_may_look(peer: str, told: bool) -> None:
    page = ask(pages(trouble="disk I/O error"), Visitor(peer), b"/ready")
    assert (page.status, b"disk I/O error" in page.body) == (503, told)


@pytest.mark.parametrize("path", [b"/", b"/metrics/", b"/000000000000/metrics", b"/ready/x"])
def test_other_paths_are_no_pages(path: bytes) -> None:
    assert not pages().show(Visitor("127.0.0.1"), path)
