"""Passwords as argon2 hashes, made and checked in threads: each takes tens of milliseconds, on purpose."""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

# Each takes 64 MiB while it runs: a crowd at the door must not take all memory.
_AT_ONCE = 2


class Passwords:
    """Hashes and verifies within one event loop, which goes on meanwhile."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._decoy: str | None = None

    async def hash(self, password: str) -> str:
        async with self._places:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def fits(self, hashed: str | None, password: str) -> bool:
        """Whether the hash is the password's. Without a hash: no, after as long as it takes with one."""
        if self._decoy is None:
            self._decoy = await self.hash("")
        async with self._places:
            fits = await asyncio.to_thread(self._verify, hashed or self._decoy, password)
        return fits and hashed is not None

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False
