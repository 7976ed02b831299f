"""Real Redis servers, each a process of its own, that last as long as the tests of one process."""

import atexit
import functools
import shutil
import tempfile
import time
from pathlib import Path
from typing import cast

import hiredis

from rockdove.store.redis.address import Address, Endpoint
from rockdove.workload.redis import START_S, start_all, url_of
from rockdove.workload.redis import RedisServer as Process

# Bytes of its file that a server may have when a test begins.
LARGE_BYTES = 8 * 1024 * 1024


class RedisServer(Process):
    """One server, with what only tests ask of it."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port)

    def wait_until_locked(self) -> None:
        """The same as `wait` for one that wants a password."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                self.say("PING")
            except hiredis.ReplyError as error:
                if "NOAUTH" in str(error):
                    return
            except OSError:
                pass
            time.sleep(0.01)
        raise AssertionError((self.folder / "log").read_text())

    def write_anew(self) -> None:
        """Now and then, so that a start does not read what all tests before have written."""
        files = (self.folder / "appendonlydir").iterdir()
        if sum(file.stat().st_size for file in files) < LARGE_BYTES:
            return
        self.say("BGREWRITEAOF")
        while b"aof_rewrite_in_progress:0" not in cast(bytes, self.say("INFO", "persistence")):
            time.sleep(0.01)

    def lose_data(self) -> None:
        """To be called when it is killed."""
        shutil.rmtree(self.folder / "appendonlydir")


class RedisServers:
    """Several of them."""

    def __init__(self, number: int, folder: Path) -> None:
        self.all = [RedisServer(folder / str(at)) for at in range(number)]

    @property
    def address(self) -> Address:
        return Address(tuple(server.endpoint for server in self.all))

    @property
    def url(self) -> str:
        return url_of(self.all)

    def start(self) -> None:
        start_all(self.all)

    def kill(self) -> None:
        for server in self.all:
            server.kill()

    def empty(self) -> None:
        for server in self.all:
            server.say("FLUSHALL")
            server.write_anew()


@functools.cache
def shared_servers(number: int = 2) -> RedisServers:
    """For all tests of this process, one after another; each empties them first."""
    folder = Path(tempfile.mkdtemp(prefix="test-redis-"))
    servers = RedisServers(number, folder)

    def end() -> None:
        servers.kill()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    servers.start()
    return servers
