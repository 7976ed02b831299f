"""A workload as the BDQS paper runs it: queues, each with senders and receivers of its own, and faults on demand."""

from collections.abc import Iterator

from msgspec import Struct


class Faults(Struct, frozen=True, kw_only=True):
    """What goes wrong on purpose, each with a probability from 0 to below 1."""

    # For each request: it is never sent.
    drop_requests: float = 0.0
    # For each request: it is carried out, and its answer ignored.
    drop_responses: float = 0.0
    # For each message received: its receiver forgets it, and starts anew.
    crash: float = 0.0


class Workload(Struct, frozen=True, kw_only=True):
    """How much of what. Senders and receivers are counted per queue, messages per sender: M = Q * T * m."""

    queues: int = 1
    senders: int = 3
    receivers: int = 3
    messages: int = 100
    # Random bytes in each message; base64 and the header make the body about 4/3 of it, and 100 bytes, long.
    size_bytes: int = 2048
    # Senders and receivers at the same time; otherwise receivers begin when all senders have finished.
    at_once: bool = False
    # After each send.
    send_delay_s: float = 0.0
    # Between a receive and its delete: what the paper calls the time to process a message.
    receive_delay_s: float = 0.0
    visibility_s: int = 10
    # How long a receive waits for a message.
    wait_s: int = 1
    # K. None: whatever the service does by itself.
    order_hint: str | None = None
    faults: Faults = Faults()
    seed: int = 0
    processes: int = 1
    # For how long a request is tried again while the service does not answer, or is too busy.
    patience_s: float = 10.0

    @property
    def total(self) -> int:
        """Messages to send in all."""
        return self.queues * self.senders * self.messages


class Thread(Struct, frozen=True):
    """One sender or receiver: the number of its queue, and its own among those of that queue and side."""

    queue: int
    number: int


def share(queues: int, threads: int, process: int, processes: int) -> Iterator[Thread]:
    """The threads of one side that a process runs; together the processes run each exactly once."""
    for place in range(process, queues * threads, processes):
        yield Thread(*divmod(place, threads))
