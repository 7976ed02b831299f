"""Takes messages that have had their deliveries to the dead-letter queue."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from rockdove.broker.ask import PhysicalQueueUnavailable
from rockdove.broker.context import Context
from rockdove.broker.deadletter import letters
from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.broker.transfer import transfer
from rockdove.core.errors import Fault, ServiceInterrupted
from rockdove.core.message import Entry
from rockdove.store.base import Physical

# Called with what went wrong.
Buried: TypeAlias = Callable[[Fault | None], None]


def comes_back(fault: Fault) -> bool:
    """Whether dead letters are kept back because of it, and not delivered once more: their queue is away for a while.

    They are tried again after another visibility timeout.
    """
    return isinstance(fault, PhysicalQueueUnavailable | ServiceInterrupted)


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
    """After so many deliveries a message is dead; 0: never.

    Never also while the disk is full: to move a message takes room, and who receives it once more can delete it.
    """
    redrive = queue.settings.redrive
    if redrive is None or context.store.full is not None or dead_letter_target(context, queue) is None:
        return 0
    return redrive.max_receives


def bury(context: Context, queue: Queue, physical: Physical, dead: Sequence[Entry], done: Buried) -> None:
    """Move messages that have had their deliveries to the dead-letter queue."""
    target = dead_letter_target(context, queue)
    if target is None:
        done(None)
        return
    drafts = letters(queue, physical, dead, target, context.clock.now_us())

    def buried(fault: Fault | None, number: int) -> None:
        queue.events.dead_lettered += number
        if context.watch is not None and fault is None:
            context.watch.dead_lettered(queue, physical, dead)
        context.store.delivered(physical, [(each.id, each.receive_count) for each in dead])
        if fault is None or comes_back(fault):
            done(fault)
        else:
            _show_again(context, queue, physical, dead, lambda _: done(fault))

    transfer(context, physical, dead, target, drafts, buried)


def _show_again(context: Context, queue: Queue, physical: Physical, dead: Sequence[Entry], done: Buried) -> None:
    """They could not be moved. Where that fails, too, they come back when their visibility timeout is over."""
    now_us = context.clock.now_us()
    gatherer = Gatherer(done)
    for entry in dead:
        count = entry.receive_count if queue.fifo else None
        physical.move(entry.id, now_us, count, gatherer.part(lambda moved: None))
    gatherer.close()
