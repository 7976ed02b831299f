"""How much memory the Redis servers of a store use."""

import re

from rockdove.core.errors import StoreError
from rockdove.store.base import Done
from rockdove.store.redis.servers import Servers

_USED = re.compile(rb"^used_memory:(\d+)", re.MULTILINE)


class RedisSizing:
    """See `rockdove.store.base.Sizing`. What else is on the servers counts, too."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def size(self, done: Done[int]) -> None:
        asked = self._servers.up
        left, total = len(asked), 0
        trouble: StoreError | None = None

        def told(reply: bytes | StoreError) -> None:
            nonlocal left, total, trouble
            left -= 1
            if isinstance(reply, StoreError):
                trouble = reply
            elif (found := _USED.search(reply)) is not None:
                total += int(found[1])
            if not left:
                # A sum without some of them would be too small.
                done(total if trouble is None else trouble)

        for server in asked:
            server.command(told, "INFO", "memory")
        if not asked:
            self._servers.soon(done, StoreError("no Redis server can be reached"))
