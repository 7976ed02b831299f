"""Many clients at once, each in a thread of its own, until the service under them is killed."""

import random
import threading
import time
from collections.abc import Callable, Iterable
from http.client import HTTPException
from typing import Any, TypeAlias

from tests.support.raw import Reply, Web


class Gone(Exception):
    """The service does not answer any more."""


class Client:
    """One connection with one random source of its own."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._web = Web(port)
        self.rng = rng

    def __call__(self, operation: str, **content: Any) -> Any:
        reply = self.ask(operation, **content)
        if reply.status == 400 and b"has expired" in reply.body:
            # On a busy machine the timeout can be over before the message is deleted.
            return None
        assert reply.status == 200, (operation, reply)
        return reply.json if reply.body else {}

    def ask(self, operation: str, **content: Any) -> Reply:
        """The answer, whatever it is."""
        try:
            return self._web.call(operation, content)
        except (OSError, HTTPException):
            raise Gone from None

    def close(self) -> None:
        self._web.close()


# What a client does again and again.
Work: TypeAlias = Callable[[Client], None]


def live(port: int, crowd: Iterable[Work], rng: random.Random, life_s: float, kill: Callable[[], None]) -> list[str]:
    """Load from all sides, until the service is killed after that time; what went wrong otherwise."""
    wrong: list[str] = []
    threads = [
        threading.Thread(target=_keep_on, args=(work, Client(port, random.Random(rng.random())), wrong))
        for work in crowd
    ]
    for thread in threads:
        thread.start()
    time.sleep(life_s)
    kill()
    for thread in threads:
        thread.join()
    return wrong


def _keep_on(work: Work, call: Client, wrong: list[str]) -> None:
    try:
        while True:
            work(call)
    except Gone:
        pass
    except Exception as error:
        wrong.append(repr(error))
    finally:
        call.close()
