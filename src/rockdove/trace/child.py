"""The process that writes a trace: takes events from its standard input, tells on its standard output how it goes.

It is a process of its own so that encoding takes no time from the one that serves, and so that files are completed even
if that one is killed: then the input ends, and what has come is written. `python -m rockdove.trace.child PLAN` runs it.
"""

import contextlib
import os
import signal
import sys

import msgspec

from rockdove.core.clock import SECOND_US, Clock, SystemClock
from rockdove.trace.extra import parquet
from rockdove.trace.pipe import Input, News
from rockdove.trace.writer import Plan, Writer


def work(writer: Writer, source: Input, output: int, clock: Clock) -> None:
    """Write until the input ends."""
    told = News()
    # The first line says that everything is loaded.
    _say(told, output)
    while not source.ended:
        for batch in source.batches(max(writer.next_us() - clock.now_us(), 0) / SECOND_US):
            writer.write(batch)
        writer.tick()
        told = _tell(writer, told, output)
    writer.close()
    _tell(writer, told, output)


def _tell(writer: Writer, told: News, output: int) -> News:
    news = News(writer.written, writer.dropped, writer.trouble)
    if news != told:
        _say(news, output)
    return news


def _say(news: News, output: int) -> None:
    # If nobody is left who would want to know, what has come is written all the same.
    with contextlib.suppress(BrokenPipeError):
        os.write(output, msgspec.json.encode(news) + b"\n")


def step_back() -> None:
    """Who is served is not interrupted when a batch comes, if the system lets us.

    Its share of the processors stays what it is: with less, a busy machine would not let it write the rest at the end.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def main() -> None:
    # Ctrl-C and systemd mean all processes at once: this one ends when its input does.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # A trace has the names of all accounts' queues: its files are for their owner only, as the data is.
    os.umask(0o077)
    plan = msgspec.json.decode(sys.argv[1], type=Plan)
    # Takes the better part of a second.
    parquet()
    step_back()
    clock = SystemClock()
    writer = Writer(plan, clock)
    writer.clean()
    work(writer, Input(sys.stdin.fileno()), sys.stdout.fileno(), clock)


if __name__ == "__main__":
    main()
