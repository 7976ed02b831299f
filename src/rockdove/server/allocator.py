"""How the C library's allocator treats the memory of large messages."""

import ctypes

# Of glibc's mallopt.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
# As large as glibc has it at the start. Left alone, it grows to 32 MiB with the largest block that was ever freed, and
# large messages then leave holes between small ones.
LARGE_BYTES = 128 * 1024
# What stays at the end of the heap: given back at once, each round of requests would fetch it again.
KEPT_BYTES = 8 * 1024 * 1024


_LIBRARY = ctypes.CDLL(None)


def give_back_large_blocks() -> None:
    """From now on, in this process and its children, freed memory of large messages goes back to the system at once.

    Other C libraries than glibc do as they do.
    """
    mallopt = getattr(_LIBRARY, "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)


def trim() -> None:
    """Give back what is free between what is used. It takes some milliseconds."""
    malloc_trim = getattr(_LIBRARY, "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
