"""The accounts in a data folder that no service holds, reached as if a service answered."""

import asyncio
import random
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rockdove.broker.accounts import Accounts
from rockdove.cli.failure import Code, Failure
from rockdove.client.step import Names, Steps, drive
from rockdove.core.clock import SystemClock
from rockdove.core.errors import DataFolderError
from rockdove.server.accounts import AccountOperations
from rockdove.store.folder import DATABASE, FolderInUse
from rockdove.store.keyfile import KeyFile
from rockdove.store.sqlite import SqliteStore
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import Request, Result

T = TypeVar("T")


class Local:
    """Holds the data folder while it is entered. Whoever may open the folder may do everything with it."""

    def __init__(self, folder: Path, create: bool) -> None:
        """``create`` is whether the folder may be a new one."""
        self.names = Names()
        self._folder = folder
        self._create = create
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        if not self._create and not (self._folder / DATABASE).is_file():
            raise Failure(f"there is no {DATABASE} in {self._folder}; name the folder of a service", Code.NOT_FOUND)
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
        self._store = SqliteStore(self._folder, clock, random.Random(), self._runner.get_loop())
        snapshot = self._store.open()
        owners = [(queue.account, queue.name) for queue in snapshot.queues]
        accounts = Accounts(
            self._store,
            clock,
            KeyFile(self._folder),
            lambda id: sorted(name for owner, name in owners if owner == id),
        )
        try:
            accounts.load(snapshot.accounts, snapshot.former_accounts)
        except BaseException:
            self._store.close()
            raise
        self._operations = AccountOperations(accounts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
        self._runner.close()

    def run(self, steps: Steps[T]) -> T:
        return drive(steps, self._call)

    def _call(self, request: Request) -> Result | None:
        operation = OPERATIONS[type(request).__name__]
        result: Result | None = self._runner.run(getattr(self._operations, operation.method)(None, request))
        return result
