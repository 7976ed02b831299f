"""Who sends requests ahead is served a turn at a time: between two turns everybody else has one."""

import asyncio
from typing import cast

import pytest

from rockdove.server.exchange import Exchange, Site
from rockdove.server.http import Connection
from rockdove.server.intake import TURN
from rockdove.server.page import Page
from tests.unit.server.test_outlet import FakeSite, Transport


class Pages(FakeSite):
    """Answers at once."""

    served = 0

    def page(self, call: Exchange, path: bytes) -> bool:
        self.served += 1
        call.show(Page(200, b"ok"))
        return True


class Reading(Transport):
    """Its client sends all at once, and reads everything."""

    def pause_reading(self) -> None:
        """Nothing more comes."""

    def resume_reading(self) -> None:
        """Nothing more comes."""


@pytest.mark.parametrize("head", [b"", b"Connection: upgrade\r\nUpgrade: x\r\n"], ids=["plain", "upgrade"])
@pytest.mark.parametrize("number", [TURN, 100, 1_000, 8_000])
def test_a_turn_has_few_requests(number: int, head: bytes) -> None:
    async def serve() -> list[int]:
        site = Pages()
        connection = Connection(cast(Site, site), lambda: None)
        connection.connection_made(Reading())
        text = b"GET /health HTTP/1.1\r\nHost: x\r\n%b\r\n" % head * number
        turns, before = list[int](), 0
        for start in range(0, len(text), 256 * 1024):
            connection.data_received(text[start : start + 256 * 1024])
        while site.served < number:
            turns.append(site.served - before)
            before = site.served
            await asyncio.sleep(0)
        return turns

    assert max(asyncio.run(serve()), default=0) <= 2 * TURN
