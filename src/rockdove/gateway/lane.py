"""Sends messages on: what comes while a request is under way goes together into the next one."""

import asyncio
import logging
from collections import deque
from typing import NamedTuple

from rockdove.client import AsyncClient, Outgoing, UnexpectedAnswer, Unreachable, cut
from rockdove.core.errors import BatchRequestTooLong, Fault
from rockdove.core.limits import MAX_BATCH_ENTRIES
from rockdove.gateway.error import Refused, Why, refusal

# Between two attempts, while the service cannot take messages.
FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 5.0
# What may be the fault of one message of a batch.
_OF_ONE = (Why.CONTENT, Why.TOO_LARGE, Why.OTHER)

log = logging.getLogger("rockdove")


class _Waiting(NamedTuple):
    message: Outgoing
    sent: "asyncio.Future[str]"


class Lane:
    """To one queue, in the order in which messages come. They wait for as long as the service is away."""

    def __init__(self, client: AsyncClient, queue: str) -> None:
        self._client = client
        self._queue = queue
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    def send(self, message: Outgoing) -> "asyncio.Future[str]":
        """The message's id, once the service has it for good; fails with `Refused`.

        Who cancels it takes the message back, unless it is on its way already.
        """
        sent: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        # Who has sent it may have gone.
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._waiting.append(_Waiting(message, sent))
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        return sent

    @property
    def is_idle(self) -> bool:
        return self._task is None

    def cancel(self) -> None:
        """What was not sent, nobody gets an answer for."""
        if self._task is not None:
            self._task.cancel()
        for waiting in self._waiting:
            waiting.sent.cancel()

    async def _run(self) -> None:
        try:
            while self._waiting:
                first = [self._waiting[at] for at in range(min(MAX_BATCH_ENTRIES, len(self._waiting)))]
                batch = first[: len(next(cut(each.message for each in first)))]
                for _ in batch:
                    self._waiting.popleft()
                try:
                    await self._send(batch)
                except asyncio.CancelledError:
                    for each in batch:
                        each.sent.cancel()
                    raise
                except Exception as error:
                    # A defect of ours is no reason to answer nobody any more.
                    log.exception("a message could not be sent on")
                    for each in batch:
                        _fail(each, Refused(Why.OTHER, f"{type(error).__name__}: {error}"))
        finally:
            self._task = None

    async def _send(self, batch: list[_Waiting]) -> None:
        pause_s, is_told = FIRST_PAUSE_S, False
        while batch := [each for each in batch if not each.sent.done()]:
            try:
                result = await self._client.send_batch(self._queue, [each.message for each in batch])
            except (Unreachable, UnexpectedAnswer) as error:
                trouble: Exception = error
            except Fault as fault:
                refused = refusal(fault)
                if refused is not None:
                    await self._refuse(batch, refused)
                    return
                trouble = fault
            else:
                again = []
                for entry in result.successful:
                    _succeed(batch[int(entry.id)], entry.message_id)
                for failed in result.failed:
                    each = batch[int(failed.id)]
                    if failed.sender_fault:
                        _fail(each, Refused(_why(failed.code), failed.message or failed.code))
                    else:
                        again.append(each)
                batch = again
                trouble = Unreachable(self._client.endpoint, "it could not store all messages", "look at its log")
            if batch:
                if not is_told:
                    log.warning("messages wait until the service takes them: %s", trouble)
                    is_told = True
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, MOST_PAUSE_S)

    async def _refuse(self, batch: list[_Waiting], refused: Refused) -> None:
        """One message must not take others along."""
        if len(batch) > 1 and refused.why in _OF_ONE:
            for each in batch:
                await self._send([each])
            return
        for each in batch:
            _fail(each, refused)


def _why(code: str) -> Why:
    return Why.TOO_LARGE if code == BatchRequestTooLong.code else Why.CONTENT


def _succeed(each: _Waiting, id: str) -> None:
    if not each.sent.done():
        each.sent.set_result(id)


def _fail(each: _Waiting, error: Refused) -> None:
    if not each.sent.done():
        each.sent.set_exception(error)
