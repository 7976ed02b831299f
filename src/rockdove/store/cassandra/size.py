"""How much disk the tables of a store take on the nodes of Cassandra."""

from rockdove.store.base import Done
from rockdove.store.cassandra.session import Session
from rockdove.store.common.tasks import Tasks


class CassandraSizing:
    """See `rockdove.store.base.Sizing`. What is still in the nodes' memory does not count."""

    def __init__(self, session: Session, tasks: Tasks) -> None:
        self._session = session
        self._tasks = tasks

    def size(self, done: Done[int]) -> None:
        self._tasks.tell(self._session.disk_bytes(), done)
