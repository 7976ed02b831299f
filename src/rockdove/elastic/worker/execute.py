"""A command as a handler: it gets the body on its standard input, and says by its exit code what came of it."""

import asyncio
import contextlib
import os
import shlex
import shutil
import tempfile

from rockdove.client import Message
from rockdove.elastic.worker.handler import Handler, HandlerError


class CommandFailed(Exception):
    """The command ended with another code than 0."""


def execute(command: str) -> Handler:
    """Raises `HandlerError`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise HandlerError(f"the command cannot be read: {error}") from None
    if not words:
        raise HandlerError("the command is empty")
    if shutil.which(words[0]) is None:
        raise HandlerError(f"there is no command {words[0]}")

    async def run(message: Message) -> None:
        told = {
            "ROCKDOVE_MESSAGE_ID": message.message_id,
            "ROCKDOVE_RECEIVE_COUNT": message.attributes.get("ApproximateReceiveCount", ""),
            "ROCKDOVE_GROUP": message.attributes.get("MessageGroupId", ""),
        }
        # Not a pipe: the command need not read all of it, and what it leaves running may keep it.
        with tempfile.TemporaryFile() as body:
            body.write(message.body.encode())
            body.seek(0)
            process = await asyncio.create_subprocess_exec(
                *words, stdin=body, env={**os.environ, **told}, start_new_session=True
            )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    # With all that it has started.
                    os.killpg(process.pid, 9)
                await process.wait()
        if process.returncode:
            what = f"signal {-process.returncode}" if process.returncode < 0 else f"code {process.returncode}"
            raise CommandFailed(f"{words[0]} ended with {what}")

    found = Handler(run)
    found.name = words[0]
    return found
