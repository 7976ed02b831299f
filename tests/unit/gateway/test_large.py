"""Turns for large packets."""

import asyncio

import pytest

from rockdove.gateway.mqtt import large as module
from rockdove.gateway.mqtt.large import Large


def test_who_is_slow_makes_room_when_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HURRY_S", 0.05)

    async def scenario() -> None:
        large = Large(at_once=2)
        begun = asyncio.Event()

        async def stall() -> None:
            async with large.turn(100):
                begun.set()
                await asyncio.sleep(60)

        slow = [asyncio.ensure_future(stall()) for _ in range(2)]
        await begun.wait()
        # Nobody waits, so nobody is hurried.
        await asyncio.sleep(0.1)
        assert not any(each.done() for each in slow)
        async with asyncio.timeout(10), large.turn(100):
            pass
        outcomes = await asyncio.gather(*slow, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [TimeoutError, TimeoutError]
        # All turns are free again.
        async with large.turn(1), large.turn(1):
            pass

    asyncio.run(scenario())
