"""Messages on standard output: their bodies, in detail on a terminal, or as JSON."""

import fcntl
import os
import select
import stat
import struct
import sys
import termios

from rockdove.cli.failure import ReaderGone
from rockdove.cli.figure import amount, moment
from rockdove.cli.output import Output
from rockdove.core.message import Attribute
from rockdove.wire.extension import PeekedMessage
from rockdove.wire.shape import Message


class Printer:
    """Prints messages one by one."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.is_pipe = stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)

    def show(self, message: Message | PeekedMessage) -> None:
        """When this returns, the message is flushed. Raises `ReaderGone`."""
        if self._output.as_json:
            self._output.record(message)
            return
        if self._output.is_terminal:
            self._output.dim(_heading(message))
        self._output.line(message.body)

    def is_read(self) -> bool:
        """Whether whoever reads our pipe has taken all that was printed. Raises `ReaderGone` if he has gone."""
        if not self.is_pipe:
            return True
        descriptor = sys.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, 0)
        if not _unread_bytes(descriptor):
            return True
        if not poll.poll(0):
            return False
        # He may have read it between the two looks, and gone then: after that nobody reads any more.
        if _unread_bytes(descriptor):
            raise ReaderGone("the reader has left something unread")
        return True


def _unread_bytes(descriptor: int) -> int:
    found: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]
    return found


def _heading(message: Message | PeekedMessage) -> str:
    """What to know of a message besides its body."""
    system = message.attributes
    parts = [moment(int(system["SentTimestamp"]) / 1000), message.message_id]
    if isinstance(message, PeekedMessage):
        parts.append(
            message.state
            if message.state == "visible" or message.visible_from is None
            else f"{message.state} until {moment(message.visible_from)}"
        )
    receives = int(system.get("ApproximateReceiveCount", "0"))
    if receives > 1:
        parts.append(f"received {amount(receives, 'time')}")
    if "MessageGroupId" in system:
        parts.append(f"group {system['MessageGroupId']}")
    parts += [f"{name}={_value(attribute)}" for name, attribute in message.message_attributes.items()]
    return "  ".join(parts)


def _value(attribute: Attribute) -> str:
    if attribute.binary_value is not None:
        return f"({amount(len(attribute.binary_value), 'byte')})"
    return attribute.string_value or ""
