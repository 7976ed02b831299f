"""The accounts in a data folder that no service holds, reached as if a service answered."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rockdove.broker.accounts import Accounts
from rockdove.broker.feed import Feed
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import note
from rockdove.client.step import Names, Steps, drive
from rockdove.core.clock import SystemClock
from rockdove.core.errors import DataFolderError
from rockdove.server.accounts import AccountOperations
from rockdove.store.registry import Location, UnknownStore, locate
from rockdove.store.sqlite.folder import DATABASE, FolderInUse
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import Request, Result

T = TypeVar("T")

# Where a service keeps its key file if nobody says otherwise.
DATA = Path("data")


def located(store: str, data: Path | None) -> Location:
    """The store that ``--store`` names, or the folder of ``--data``."""
    try:
        location = locate(store, data or (DATA if "//" in store else Path()))
    except UnknownStore as error:
        raise Failure(f"--store takes sqlite:DIR, or the URL of servers; {error}", Code.USAGE) from None
    if not location.kind.is_kept or location.folder == Path():
        text = f"--store takes sqlite:DIR, or the URL of servers; a store {location.name!r} has no accounts to open"
        raise Failure(text, Code.USAGE)
    return location


class Local:
    """Holds the data while it is entered. Whoever may open it may do everything with it."""

    def __init__(self, location: Location, create: bool) -> None:
        """``create`` is whether the folder may be a new one."""
        self.names = Names()
        self._location = location
        self._create = create
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        if not self._create and self._location.is_new:
            folder = self._location.folder
            raise Failure(f"there is no {DATABASE} in {folder}; name the folder of a service", Code.NOT_FOUND)
        try:
            self._open()
        except BaseException:
            self._runner.close()
            raise
        return self

    def _open(self) -> None:
        try:
            self._load()
        except FolderInUse as error:
            raise Failure(
                f"the data folder {error.path} is in use by process {error.holder}; ask the service that runs there, "
                "with --endpoint URL instead of the folder, or stop it first",
                Code.REFUSED,
            ) from None
        except DataFolderError as error:
            raise Failure(str(error)) from None

    def _load(self) -> None:
        clock = SystemClock()
        self._store = self._location.open(clock, self._runner.get_loop())
        snapshot = self._runner.run(self._store.open())
        owned = {
            "queues": [(queue.account, queue.name) for queue in snapshot.queues],
            "topics": [(topic.account, topic.name) for topic in snapshot.topics],
        }
        feed = Feed(self._store.records)
        accounts = Accounts(
            self._store.records,
            feed,
            clock,
            self._location.key(),
            lambda id: {kind: sorted(name for owner, name in owners if owner == id) for kind, owners in owned.items()},
        )
        try:
            feed.start(snapshot, accounts)
        except BaseException:
            self._store.close()
            raise
        self._operations = AccountOperations(accounts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
        self._runner.close()
        if kind is None and self._create and self._location.kind.servers is not None:
            place = self._location.key().place
            note(f"secrets are sealed under {place}: copy that file into the --data folder of each front-end")

    def run(self, steps: Steps[T]) -> T:
        return drive(steps, self._call)

    def _call(self, request: Request) -> Result | None:
        operation = OPERATIONS[type(request).__name__]
        result: Result | None = self._runner.run(getattr(self._operations, operation.method)(None, request))
        return result
