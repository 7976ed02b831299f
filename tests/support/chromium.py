"""Debian's Chromium, driven by Playwright, and a watch for what no page of the console may do."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, WebError, sync_playwright

from tests.support.site import PASSWORD

# Nothing of the browser's own may look like something of the console's; Playwright adds more.
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# No request: what the page has already.
_OWN = ("data:", "blob:")
# For what a page does by itself; a machine may be very busy.
PATIENCE_MS = 30_000
_NODE_MODULES = Path(__file__).parents[1] / "browser" / "node_modules"

# impact -> words, for those that axe has found.
Findings = dict[str, list[str]]


@contextmanager
def started() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "there is no chromium: make test-browser installs it"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Over all pages of a context: `troubles` are errors, warnings, and requests to others than the origin."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self._origin = origin
        self._allowed: list[str] = []
        self._seen: list[str] = []
        self.requests: list[str] = []
        context.on("console", self._said)
        context.on("weberror", self._failed)
        context.on("request", self._asked)

    def allow(self, *parts: str) -> None:
        """Texts of errors that a test brings about."""
        self._allowed += parts

    @property
    def troubles(self) -> list[str]:
        return [text for text in self._seen if not any(part in text for part in self._allowed)]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._seen.append(f"{message.type} on {message.location.get('url', '')}: {message.text}")

    def _failed(self, error: WebError) -> None:
        self._seen.append(f"exception: {error.error}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith((f"{self._origin}/", *_OWN)):
            self._seen.append(f"a request to {request.url}")


class Visits:
    """Gives pages, each in a context of its own, as of another person; `close` fails if there was trouble in one."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._watches: dict[BrowserContext, Watch] = {}

    def page(self, origin: str, **options: Any) -> Page:
        """Options are those of a context, such as color_scheme."""
        context = self._browser.new_context(base_url=origin, **options)
        context.set_default_timeout(PATIENCE_MS)
        self._watches[context] = Watch(context, origin)
        return context.new_page()

    def watch(self, page: Page) -> Watch:
        return self._watches[page.context]

    def close(self) -> None:
        for context in self._watches:
            context.close()
        troubles = [text for watch in self._watches.values() for text in watch.troubles]
        assert not troubles, "\n".join(troubles)


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """On the page for it."""
    page.get_by_test_id("login-account").fill(name)
    page.get_by_test_id("login-password").fill(password)
    page.get_by_test_id("login-submit").click()


def axe_findings(page: Page) -> Findings:
    """What axe finds on a page as it is now, with the elements that it is about."""
    script = _NODE_MODULES / "axe-core" / "axe.min.js"
    # Through the debugger, to which the page's policy for scripts does not apply.
    page.evaluate(script.read_text() + "; undefined")
    # A colour that changes softly is the new one first; what moves for ever is left alone.
    violations = page.evaluate(
        """async () => {
          const moving = document.getAnimations().map((each) => each.finished.catch(() => null));
          await Promise.race([Promise.all(moving), new Promise((resolve) => setTimeout(resolve, 1000))]);
          const words = ({ target, failureSummary }) => `${target.join(" ")} [${failureSummary}]`;
          const { violations } = await axe.run();
          return violations.map(({ impact, id, help, nodes }) => ({
            impact, words: `${id}: ${help}: ${nodes.map(words).join("; ")}`,
          }));
        }"""
    )
    findings: Findings = {}
    for violation in violations:
        findings.setdefault(violation["impact"], []).append(violation["words"])
    return findings
