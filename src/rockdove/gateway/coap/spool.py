"""Puts the blocks of large messages together."""

import asyncio
from collections import OrderedDict

from aiocoap.blockwise import ContinueException, _extract_block_key
from aiocoap.error import BadRequest, RequestEntityIncomplete, RequestEntityTooLarge
from aiocoap.message import Message
from msgspec import Struct

from rockdove.core.limits import MAX_MESSAGE_BYTES

# Of messages that are not complete. When there are more, the one whose next block is longest in coming is dropped.
MOST_BYTES = 64 * 1024 * 1024
# What an incomplete message takes beside its bytes.
_OVERHEAD_BYTES = 2_048
# Seconds until its next block must come.
NEXT_S = 120.0


class _Part(Struct):
    payload: bytearray
    until_s: float


class Spool:
    """In place of the library's, which holds any number of bytes and keeps what is complete."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._bytes = 0
        # The one that was added to last is the last.
        self._parts: OrderedDict[object, _Part] = OrderedDict()

    def feed_and_take(self, request: Message) -> Message:
        """The complete message. Raises what tells the client to go on, or why it cannot."""
        block = request.opt.block1
        if block is None:
            return request
        if not block.is_valid_for_payload_size(len(request.payload)):
            raise BadRequest("The payload is not as long as its block.")
        if block.start + len(request.payload) > MAX_MESSAGE_BYTES:
            raise RequestEntityTooLarge(f"A message can have {MAX_MESSAGE_BYTES} bytes.")
        now_s = asyncio.get_running_loop().time()
        key = _extract_block_key(request)
        payload = self._before(key, block.block_number, block.start)
        payload += request.payload
        if not block.more:
            return request.copy(payload=bytes(payload))
        self._parts[key] = _Part(payload, now_s + NEXT_S)
        self._bytes += len(payload) + _OVERHEAD_BYTES
        self._forget(now_s)
        raise ContinueException(block)

    def _before(self, key: object, number: int, start: int) -> bytearray:
        """What has come before this block; the first one begins anew."""
        part = self._take(key)
        if not number:
            return bytearray()
        if part is None or len(part.payload) != start:
            raise RequestEntityIncomplete("Blocks before this one are missing. Please send all of them again.")
        return part.payload

    def _take(self, key: object) -> _Part | None:
        part = self._parts.pop(key, None)
        if part is not None:
            self._bytes -= len(part.payload) + _OVERHEAD_BYTES
        return part

    def _forget(self, now_s: float) -> None:
        while self._parts:
            key, oldest = next(iter(self._parts.items()))
            if oldest.until_s > now_s and self._bytes <= self._most:
                return
            self._take(key)
