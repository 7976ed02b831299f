"""Takes the pictures of the console that the docs show: ``python -m tests.browser.screenshots [FOLDER]``.

A shop's queues are made, and have traffic for a minute and a half, so that the pictures show some.
"""

import contextlib
import io
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

from PIL import Image
from playwright.sync_api import Page

from rockdove.client import Client
from tests.support import exhibit
from tests.support.chromium import Visits, started
from tests.support.site import Site

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
MOST_BYTES = 150_000
_SIZE = {"width": 1280, "height": 800}
# For charts and small pictures to have something in them.
_TRAFFIC_S = 90
# Messages a second, and the share of them that workers take.
_RATES = {
    "orders": (14, 0.93),
    "payments": (8, 1.0),
    "emails": (22, 0.97),
    "webhooks": (4, 0.8),
    "price-updates": (3, 1.0),
    exhibit.ELASTIC: (10, 1.0),
}
_DEAD = 12
_STEP_S = 0.5
_PAGES = {
    "queues": "/",
    "queue": "/queues/000000000000/orders",
    "elastic": f"/elastic?queue={exhibit.ELASTIC}",
    "analysis": "/analysis?report=monday",
    "plan": "/plan?arrival=42&service_ms=60&threads=5&reliability=99.5&timeout_s=30",
}


class Traffic:
    """Sends and receives in a thread of its own, until it is left; the elastic queue is steered, too."""

    def __init__(self, site: Site) -> None:
        self._sqs = site.sqs()
        self._urls = exhibit.queues(self._sqs)
        self._client = Client(site.server.endpoint)
        self._rng = random.Random(7)
        self._sent = 0
        self._steps = 0
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> None:
        for name in ("orders-dead", "emails-dead"):
            self._send(name, _DEAD)
        self._send("audit-log", 40)
        for number in range(3):
            self._sqs.send_message(QueueUrl=self._urls["invoices.fifo"], MessageBody=f"{number}", MessageGroupId="de")
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._stop.wait(_STEP_S):
            self._steps += 1
            for name, (rate, taken) in _RATES.items():
                count = self._count(rate)
                self._send(name, count)
                # Some of the last step's are in hand until now.
                self._take(name, round(count * taken * self._rng.uniform(0.7, 1.3)))
            if self._steps % 4 == 0:
                self._steer()

    def _count(self, rate: float) -> int:
        wave = 1 + 0.5 * (self._steps * _STEP_S % 40 < 16) + self._rng.uniform(-0.25, 0.25)
        return round(rate * wave * _STEP_S)

    def _send(self, name: str, count: int) -> None:
        while count > 0:
            entries = [{"Id": str(n), "MessageBody": exhibit.body(self._sent + n)} for n in range(min(count, 10))]
            self._sqs.send_message_batch(QueueUrl=self._urls[name], Entries=entries)
            self._sent += len(entries)
            count -= len(entries)

    def _take(self, name: str, count: int) -> None:
        url = self._urls[name]
        while count > 0:
            told = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=min(count, 10))
            messages = told.get("Messages", [])
            # Now and then a worker keeps one for long.
            done = [each for each in messages if self._rng.random() > 0.01]
            if done:
                entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(done)]
                self._sqs.delete_message_batch(QueueUrl=url, Entries=entries)
            if not messages:
                return
            count -= len(messages)

    def _steer(self) -> None:
        share = min(1.0, self._steps * _STEP_S / _TRAFFIC_S)
        workers = 2 + int(3 * share)
        loads = [int((26 + 18 * (share < 0.5)) * self._rng.uniform(0.4, 1)) for _ in range(workers)]
        reasons = [f"load {load} of no. {number} is above maxLoad 40" for load, number in ((61, 1), (48, 2), (44, 0))]
        ages_s = [self._steps * _STEP_S - part * _TRAFFIC_S / 3 for part in range(1, workers - 1)]
        decisions = [exhibit.decided(age, 1, reason) for age, reason in zip(ages_s, reasons, strict=False)]
        exhibit.steer(self._client, loads, decisions)


@contextlib.contextmanager
def exhibition(folder: Path) -> Iterator[Site]:
    exhibit.report(folder / "reports" / "monday", exhibit.BEGIN)
    with Site(folder, reports=folder / "reports") as site, Traffic(site):
        yield site


def compressed(picture: bytes) -> bytes:
    """Without what nobody sees."""
    packed = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(packed, "png", optimize=True)
    return packed.getvalue()


def take(pages: dict[str, Page], folder: Path) -> None:
    for name, page in pages.items():
        page.bring_to_front()
        # What a tab in the background put off.
        page.wait_for_timeout(1_500)
        picture = compressed(page.screenshot(animations="disabled"))
        assert len(picture) < MOST_BYTES, f"{name}: {len(picture)} bytes"
        path = folder / f"console-{name}.png"
        path.write_bytes(picture)
        print(f"{path}: {len(picture):,} bytes")


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place, exhibition(Path(place)) as site, started() as browser:
        visits = Visits(browser)
        pages = {}
        for name, address in _PAGES.items():
            pages[name] = visits.page(site.origin, viewport=_SIZE, color_scheme="light", timezone_id="UTC")
            pages[name].goto(address)
        time.sleep(_TRAFFIC_S)
        take(pages, folder)
        visits.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
