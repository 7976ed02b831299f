"""``rockdove send``: one message, or one for each line."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.line import lines
from rockdove.cli.output import Output, Progress, note
from rockdove.cli.pair import attributes
from rockdove.cli.service import connect, name_of
from rockdove.client import Client, Outgoing, cut
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.limits import MAX_DELAY_S
from rockdove.wire.shape import BatchResultErrorEntry

_STANDARD_INPUT = "-"
# Failures told one by one; the others are counted.
_MOST_TOLD = 5


def send(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    body: Annotated[
        str | None, typer.Argument(metavar="BODY", help="The message; - sends each line of standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", metavar="FILE", help="Send each line of a file.")] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            "-a",
            metavar="NAME=VALUE",
            help="A message attribute, text unless NAME:Number=VALUE or NAME:Binary=BASE64; repeatable.",
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="ID", help="The message group; FIFO queues need one.")
    ] = None,
    dedup_id: Annotated[
        str | None, typer.Option("--dedup-id", metavar="ID", help="The deduplication id, for FIFO queues.")
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option("--delay", metavar="S", help="Seconds until it can be received.", min=0, max=MAX_DELAY_S),
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Send a message, or one for each line.

    The lines of a file or of standard input go in batches of ten, as soon as they come; empty lines
    are left out. If some are refused, the others are sent all the same, and the exit code is 1.

    \b
    Examples:
      rockdove send jobs "hello"
      rockdove send jobs "hello" --delay 10 --attribute kind=greeting --attribute size:Number=5
      rockdove send orders.fifo "order 1" --group customer-7 --dedup-id order-1
      seq 1000 | rockdove send jobs -
      rockdove send jobs --file jobs.txt
    """
    if (body is None) == (file is None):
        raise Failure("give either BODY (- for the lines of standard input) or --file", Code.USAGE)
    many = file is not None or body == _STANDARD_INPUT
    if many and dedup_id is not None:
        raise Failure("one --dedup-id for many messages would leave only the first; leave it out", Code.USAGE)
    model = Outgoing(
        body=body or "", delay_s=delay, attributes=attributes(attribute), group_id=group, deduplication_id=dedup_id
    )
    output = Output(as_json)
    with connect(endpoint, region, queue) as client:
        url = client.queue_url(queue)
        if many:
            _send_lines(client, url, file, model, output)
        else:
            _send_one(client, url, model, output)


def _send_one(client: Client, url: str, message: Outgoing, output: Output) -> None:
    sent = client.send(
        url,
        message.body,
        delay_s=message.delay_s,
        attributes=message.attributes,
        group_id=message.group_id,
        deduplication_id=message.deduplication_id,
    )
    if output.as_json:
        output.document(sent)
    else:
        output.line(f"sent {sent.message_id}")


class _Tally(Struct):
    """What became of many messages."""

    sent: int = 0
    failed: int = 0
    told: list[dict[str, object]] = []


def _send_lines(client: Client, url: str, file: Path | None, model: Outgoing, output: Output) -> None:
    progress = Progress()
    tally = _Tally()
    try:
        with _opened(file) as descriptor:
            for messages in _messages(descriptor, model):
                _send_some(client, url, messages, tally)
                progress.show(f"{tally.sent:,} sent")
    except BaseException:
        progress.clear()
        note(f"{amount(tally.sent, 'message')} sent before it ended")
        raise
    progress.clear()
    _report(tally, url, output)


@contextmanager
def _opened(file: Path | None) -> Iterator[int]:
    if file is None:
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror}", Code.USAGE) from None
    try:
        yield descriptor
    except IsADirectoryError:
        raise Failure(f"{file} is a folder, not a file", Code.USAGE) from None
    finally:
        os.close(descriptor)


def _messages(descriptor: int, model: Outgoing) -> Iterator[list[tuple[int, Outgoing]]]:
    """Messages with the numbers of their lines, in groups that fit into one request."""
    number = 0
    for group in lines(descriptor):
        numbers = [place for place, line in enumerate(group, number + 1) if line]
        number += len(group)
        rest = iter(numbers)
        for batch in cut(replace(model, body=line) for line in group if line):
            yield [(next(rest), message) for message in batch]


def _send_some(client: Client, url: str, messages: list[tuple[int, Outgoing]], tally: _Tally) -> None:
    result = client.send_batch(url, [message for _, message in messages])
    tally.sent += len(result.successful)
    for failed in result.failed:
        tally.failed += 1
        if tally.failed <= _MOST_TOLD:
            tally.told.append(_told(messages[int(failed.id)][0], failed))


def _told(line: int, failed: BatchResultErrorEntry) -> dict[str, object]:
    return {"Line": line, "Code": failed.code, "Message": failed.message}


def _report(tally: _Tally, url: str, output: Output) -> None:
    if output.as_json:
        output.document({"QueueUrl": url, "Sent": tally.sent, "Failed": tally.failed, "Failures": tally.told})
    else:
        output.line(f"sent {amount(tally.sent, 'message')}")
    for told in tally.told:
        note(f"line {told['Line']}: {told['Message']} ({told['Code']})")
    if tally.failed:
        raise Failure(f"{name_of(url)} did not take {amount(tally.failed, 'message')}; correct and send them again")
