"""Receipt handles: (queue, physical queue and entry, time of the receive, receive count) under a keyed hash.

The time is that of the receive and not the visible-from time, because that changes while the handle must not.

Any front-end that knows the key can serve a handle, and nobody can forge one.
"""

import hashlib
import hmac
import struct
from binascii import a2b_base64, b2a_base64

from msgspec import Struct

# A version byte, the queue's uid, the entry's id, the time of the receive, its receive count.
_LAYOUT = struct.Struct(">B8sQQI")
_VERSION = 2
# With 13 bytes of hash the whole is 42 bytes: 56 characters without padding.
_MAC_BYTES = 13
_LENGTH = (_LAYOUT.size + _MAC_BYTES) // 3 * 4


class Receipt(Struct, frozen=True, gc=False):
    """What a handle names."""

    id: int
    received_us: int
    receive_count: int


def contents(handle: str) -> Receipt | None:
    """What a handle says, without a look at whether we made it; None: nothing that could be one of ours."""
    try:
        _, _, id, received_us, receive_count = _LAYOUT.unpack_from(a2b_base64(handle))
    except (ValueError, struct.error):
        return None
    return Receipt(id, received_us, receive_count)


class Receipts:
    """Writes and reads the handles of one service."""

    def __init__(self, key: bytes) -> None:
        # Copied for each handle, with the key taken in already.
        self._keyed = hashlib.blake2s(key=key, digest_size=_MAC_BYTES)

    def write(self, queue: bytes, id: int, received_us: int, receive_count: int) -> str:
        """``queue`` is the queue's uid as 8 bytes."""
        plain = _LAYOUT.pack(_VERSION, queue, id, received_us, receive_count)
        keyed = self._keyed.copy()
        keyed.update(plain)
        return b2a_base64(plain + keyed.digest(), newline=False).decode()

    def read(self, queue: bytes, handle: str) -> Receipt | None:
        """None: not a handle that this service made for this queue."""
        if len(handle) != _LENGTH:
            return None
        try:
            raw = a2b_base64(handle, strict_mode=True)
        except ValueError:
            return None
        if len(raw) != _LAYOUT.size + _MAC_BYTES:
            return None
        keyed = self._keyed.copy()
        keyed.update(raw[: _LAYOUT.size])
        if not hmac.compare_digest(raw[_LAYOUT.size :], keyed.digest()):
            return None
        _, owner, id, received_us, receive_count = _LAYOUT.unpack_from(raw)
        return Receipt(id, received_us, receive_count) if owner == queue else None
