"""The body of a workload's message: who sent it, its number, and random bytes, under a checksum."""

import base64
import binascii
import hashlib
import random

from msgspec import Struct

# The first word of every body; another version of this form would have another.
MARK = "rockdove-bench/1"
_DIGEST_BYTES = 16


class Stamp(Struct, frozen=True):
    """What identifies a message: the run, the queue, its sender's number there, and its own among the sender's."""

    run: str
    queue: int
    sender: int
    seq: int


def write(stamp: Stamp, payload: bytes) -> str:
    """Words of ASCII, so that SQS takes it: the stamp, the payload in base64, and the checksum of all that."""
    text = base64.b64encode(payload).decode()
    words = f"{MARK} {stamp.run} {stamp.queue} {stamp.sender} {stamp.seq} {text}"
    return f"{words} {_checksum(words)}"


def read(body: str) -> tuple[Stamp, bytes] | None:
    """The stamp and the payload, or None if the body is not what was written: nothing in it can be trusted then."""
    words, _, checksum = body.rpartition(" ")
    if checksum != _checksum(words):
        return None
    try:
        mark, run, queue, sender, seq, text = words.split(" ")
        stamp = Stamp(run, int(queue), int(sender), int(seq))
        payload = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return (stamp, payload) if mark == MARK else None


def draw(rng: random.Random, size_bytes: int) -> bytes:
    return rng.randbytes(size_bytes)


def _checksum(words: str) -> str:
    return hashlib.blake2b(words.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
