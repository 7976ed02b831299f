"""Takes messages that have had their deliveries to the dead-letter queue."""

from collections.abc import Callable, Sequence

from rockdove.broker.context import Context
from rockdove.broker.deadletter import letters
from rockdove.broker.queue import Queue
from rockdove.broker.transfer import transfer
from rockdove.core.errors import Fault
from rockdove.core.message import Entry
from rockdove.store.base import Physical


def dead_letter_target(context: Context, queue: Queue) -> Queue | None:
    redrive = queue.settings.redrive
    if redrive is None:
        return None
    target = context.directory.get(*redrive.target)
    if target is None or target.fifo != queue.fifo:
        return None
    allow = target.settings.redrive_allow
    return target if allow is None or allow.allows(queue.key) else None


def max_receives(context: Context, queue: Queue) -> int:
    """After so many deliveries a message is dead; 0: never."""
    redrive = queue.settings.redrive
    return redrive.max_receives if redrive is not None and dead_letter_target(context, queue) is not None else 0


def bury(context: Context, queue: Queue, physical: Physical, dead: Sequence[Entry], done: Callable[[], None]) -> None:
    """Move messages that have had their deliveries to the dead-letter queue."""
    target = dead_letter_target(context, queue)
    if target is None:
        done()
        return
    drafts = letters(queue, physical, dead, target, context.clock.now_us())

    def buried(fault: Fault | None, number: int) -> None:
        # If it fails, they come back when their visibility timeout is over, and are tried again.
        queue.dead_lettered += number
        if context.watch is not None and fault is None:
            context.watch.dead_lettered(queue, physical, dead)
        context.store.delivered(physical, dead)
        done()

    transfer(context, physical, dead, target, drafts, buried)
