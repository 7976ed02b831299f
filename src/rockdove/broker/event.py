"""What happened to a queue's messages since the service started, for those who watch it."""


class Events:
    """Plain numbers, because they are counted up on the hot path. ``empty`` are receives that got nothing."""

    __slots__ = ("dead_lettered", "deleted", "empty", "expired", "received", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.empty = 0
        self.deleted = 0
        self.expired = 0
        self.dead_lettered = 0

    @property
    def numbers(self) -> list[int]:
        return [self.sent, self.received, self.empty, self.deleted, self.expired, self.dead_lettered]
