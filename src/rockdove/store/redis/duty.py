"""Duties among the front-ends of a store on Redis servers: each is kept by one of the servers, by its clock."""

import secrets

from rockdove.store.base import Done
from rockdove.store.redis.physical import then
from rockdove.store.redis.servers import Servers


class RedisDuties:
    """See `rockdove.store.base.Duties`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._name = secrets.token_hex(6)

    def take(self, name: str, seconds: float, done: Done[bool]) -> None:
        words = (self._name, round(seconds * 1000))
        self._servers.home(name).call(then(done, bool), "rd_take_duty", _key_of(name), *words)

    def leave(self, name: str) -> None:
        self._servers.home(name).call(lambda reply: None, "rd_leave_duty", _key_of(name), self._name)


def _key_of(name: str) -> str:
    return f"rd:duty:{name}"
