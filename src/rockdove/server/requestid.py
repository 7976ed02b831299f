"""Ids of requests: UUIDs whose last sixty bits are random, so that they tell nobody how many requests others make."""

import os
import uuid
from collections.abc import Iterator

# Made together: one by one they would cost many times as much.
_AT_ONCE = 256
_BYTES = 8


def request_ids() -> Iterator[bytes]:
    # Up to the digit of the variant.
    process = str(uuid.uuid4())[:20].encode()
    while True:
        digits = os.urandom(_BYTES * _AT_ONCE).hex().encode()
        for at in range(0, len(digits), 2 * _BYTES):
            yield b"%b%b-%b" % (process, digits[at : at + 3], digits[at + 3 : at + 15])
