"""``rockdove receive``: take messages, look at them, or follow a queue."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount, duration
from rockdove.cli.follow import Follower
from rockdove.cli.output import Output, note
from rockdove.cli.printer import Printer
from rockdove.cli.service import connect
from rockdove.client import Client
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.limits import MAX_RECEIVE_EXTENDED, MAX_VISIBILITY_TIMEOUT_S, MAX_WAIT_S
from rockdove.wire.shape import Message


def receive(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    most: Annotated[
        int | None,
        typer.Option(
            "--max", "-n", metavar="N", min=1, help="Messages at most.", show_default="1; --peek: 10; --follow: no end"
        ),
    ] = None,
    wait: Annotated[
        int | None,
        typer.Option(
            "--wait",
            metavar="S",
            min=0,
            max=MAX_WAIT_S,
            help="Seconds to wait for a message.",
            show_default="the queue's",
        ),
    ] = None,
    delete: Annotated[
        bool | None,
        typer.Option(
            "--delete/--keep",
            help="Whether a message is deleted once it has been printed.",
            show_default="keep; --follow: delete",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on printing messages as they come.")] = False,
    peek: Annotated[bool, typer.Option("--peek", help="Only look; nothing is hidden, counted or deleted.")] = False,
    visibility: Annotated[
        int | None,
        typer.Option(
            "--visibility",
            metavar="S",
            min=0,
            max=MAX_VISIBILITY_TIMEOUT_S,
            help="Seconds for which a received message is hidden from others.",
            show_default="the queue's",
        ),
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Receive messages and print their bodies.

    A received message is hidden from others for its visibility timeout. With --keep, which is the
    default, it then comes back; with --delete it is gone as soon as it has been printed.

    --follow is for a queue what "tail -f" is for a file: it prints each message as it comes and
    deletes it when it has been printed (into a pipe: when the reader has taken it). It ends with
    Ctrl-C, or with its reader; what was not printed is then visible to others again. It waits for a
    service that is restarted. With --follow --keep each message stays, and is printed again whenever
    its visibility timeout is over.

    \b
    Examples:
      rockdove receive jobs
      rockdove receive jobs --max 10 --wait 20 --delete
      rockdove receive jobs --peek --max 100
      rockdove receive jobs --follow --json | jq .Body
    """
    if peek and (follow or delete or wait is not None or visibility is not None):
        raise Failure("--peek goes neither with --follow nor with --delete, --wait or --visibility", Code.USAGE)
    output = Output(as_json)
    if follow:
        deletes = delete is not False
        Follower(endpoint, region, queue, Printer(output), most, wait, visibility, deletes).run()
        return
    with connect(endpoint, region, queue) as client:
        if peek:
            _peek(client, queue, most, output)
        else:
            _receive(client, queue, most or 1, wait, visibility, bool(delete), output)


def _peek(client: Client, queue: str, most: int | None, output: Output) -> None:
    if most is not None and most > MAX_RECEIVE_EXTENDED:
        raise Failure(f"--peek shows {MAX_RECEIVE_EXTENDED} messages at most", Code.USAGE)
    messages = client.peek(queue, limit=most or 10)
    if output.as_json:
        output.document({"Messages": messages})
        return
    printer = Printer(output)
    for message in messages:
        printer.show(message)
    if not messages and output.is_terminal:
        note(f"{queue} is empty")


def _receive(
    client: Client, queue: str, most: int, wait: int | None, visibility: int | None, delete: bool, output: Output
) -> None:
    """In JSON all messages are one document; as text each request's are printed, and deleted, before the next."""
    printer = Printer(output)
    kept: list[Message] = []
    number = 0
    while number < most:
        limit = min(most - number, MAX_RECEIVE_EXTENDED)
        messages = client.receive(queue, limit=limit, wait_s=wait if not number else 0, visibility_s=visibility)
        if not messages:
            break
        number += len(messages)
        if output.as_json:
            kept += messages
        else:
            for message in messages:
                printer.show(message)
            _delete(client, queue, messages if delete else [])
    if output.as_json:
        output.document({"Messages": kept})
        _delete(client, queue, kept if delete else [])
    elif output.is_terminal:
        _tell(client, queue, number, visibility, delete)


def _delete(client: Client, queue: str, messages: list[Message]) -> None:
    result = client.delete_batch(queue, [message.receipt_handle for message in messages])
    if result.failed:
        raise Failure(f"{amount(len(result.failed), 'message')} could not be deleted: {result.failed[0].message}")


def _tell(client: Client, queue: str, number: int, visibility: int | None, delete: bool) -> None:
    if not number:
        note(f"no message is visible in {queue}; --wait 20 waits for one")
    elif not delete:
        seconds = visibility
        if seconds is None:
            seconds = int(client.attributes(queue, ["VisibilityTimeout"])["VisibilityTimeout"])
        note(f"visible again in {duration(seconds)}; --delete takes messages off the queue")
