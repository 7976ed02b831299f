"""The client library: ``Client`` for blocking calls, ``AsyncClient`` for asyncio."""

from rockdove.client.aio import AsyncClient
from rockdove.client.credential import Basic, Bearer, Nobody
from rockdove.client.error import UnexpectedAnswer, Unreachable
from rockdove.client.outgoing import Outgoing, cut
from rockdove.client.retry import Retry
from rockdove.client.sync import Client
from rockdove.wire.account import ListedAccount
from rockdove.wire.extension import PeekedMessage
from rockdove.wire.figure import GetFiguresResult, QueueFigures
from rockdove.wire.shape import ListMessageMoveTasksResultEntry as MoveTask
from rockdove.wire.shape import Message
from rockdove.wire.signature import Credentials

__all__ = [
    "AsyncClient",
    "Basic",
    "Bearer",
    "Client",
    "Credentials",
    "GetFiguresResult",
    "ListedAccount",
    "Message",
    "MoveTask",
    "Nobody",
    "Outgoing",
    "PeekedMessage",
    "QueueFigures",
    "Retry",
    "UnexpectedAnswer",
    "Unreachable",
    "cut",
]
