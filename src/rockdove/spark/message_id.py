"""Ids of messages, and other text, as numbers: such as are in the same order, and hashes."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rockdove.capacity.compiled import compiled

Offsets: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.uint8]


@compiled
def number(offsets: Offsets, data: Bytes, row: int) -> tuple[int, int]:
    """An id as 128 bits in the same order: all of a UUID, the first 16 bytes of others."""
    begin, end = offsets[row], offsets[row + 1]
    high, low, digits = np.uint64(0), np.uint64(0), 0
    if end - begin == 36:
        for index in range(begin, end):
            digit = _digit(data[index])
            if digit < 0:
                continue
            if digits < 16:
                high = high << np.uint64(4) | np.uint64(digit)
            else:
                low = low << np.uint64(4) | np.uint64(digit)
            digits += 1
        if digits == 32:
            return np.int64(high), np.int64(low)  # type: ignore[return-value]
        high, low = np.uint64(0), np.uint64(0)
    for index in range(16):
        byte = np.uint64(data[begin + index]) if begin + index < end else np.uint64(0)
        if index < 8:
            high = high << np.uint64(8) | byte
        else:
            low = low << np.uint64(8) | byte
    return np.int64(high), np.int64(low)  # type: ignore[return-value]


@compiled
def _digit(character: int) -> int:
    if 48 <= character <= 57:
        return character - 48
    if 97 <= character <= 102:
        return character - 87
    return -1


@compiled
def hashed(offsets: Offsets, data: Bytes, row: int) -> int:
    """64 bits of a hash that is the same everywhere: eight bytes at a time, each mixed with all before it."""
    begin, end = offsets[row], offsets[row + 1]
    state = np.uint64(end - begin) * np.uint64(0x9E3779B97F4A7C15)
    while begin < end:
        word = np.uint64(0)
        if begin + 8 <= end:
            for index in range(8):
                word |= np.uint64(data[begin + index]) << np.uint64(8 * index)
        else:
            for index in range(end - begin):
                word |= np.uint64(data[begin + index]) << np.uint64(8 * index)
        state = mixed(state ^ word)
        begin += 8
    return np.int64(mixed(state))  # type: ignore[return-value]


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """Each bit of an unsigned number depends on all bits of `value`, and no two values give the same number."""
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xD6E8FEB86659FD93)
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xD6E8FEB86659FD93)
    value ^= value >> np.uint64(32)
    return value
