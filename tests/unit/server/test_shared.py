"""What several ask for at the same time."""

import asyncio

from rockdove.server.shared import Shared


def test_those_who_ask_meanwhile_share_the_answer() -> None:
    async def scenario() -> tuple[list[bytes], bytes]:
        asked, go_on = 0, asyncio.Event()

        async def source() -> bytes:
            nonlocal asked
            asked += 1
            await go_on.wait()
            return b"%d" % asked

        shared = Shared(source)
        first, gone, second = (asyncio.create_task(shared.get()) for _ in range(3))
        await asyncio.sleep(0)
        # Who hangs up takes nothing from the others.
        gone.cancel()
        go_on.set()
        return [await first, await second], await shared.get()

    assert asyncio.run(scenario()) == ([b"1", b"1"], b"2")
