"""Where a service was: somebody who turns all its clients away, and counts them."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def closed_door(port: int) -> Iterator[Callable[[], int]]:
    """Gives the number of those who came so far."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", port)) as listener:

        def turn_away() -> None:
            with suppress(OSError):
                while True:
                    guest, address = listener.accept()
                    came.append(address)
                    guest.close()

        thread = Thread(target=turn_away)
        thread.start()
        try:
            yield lambda: len(came)
        finally:
            # A thread in accept() is not woken by close().
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
