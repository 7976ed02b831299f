"""Workers, and queues that grow as many of them as they need.

    from rockdove.elastic import handler

    @handler
    async def resize(picture: Picture) -> None: ...

Then: rockdove worker pictures --handler shop:resize
"""

from rockdove.client import Message
from rockdove.elastic.worker.handler import Handler, Later, WrongPayload, handler

__all__ = ["Handler", "Later", "Message", "WrongPayload", "handler"]
