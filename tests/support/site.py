"""A service and its console, each in a process of its own, with or without accounts."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple, Self

import boto3

from tests.support.aws import config
from tests.support.console import Console
from tests.support.environment import REGION, isolated
from tests.support.server import COMMAND, Server

# Of all accounts.
PASSWORD = "correct horse battery"
_TIMEOUT_S = 120


class Key(NamedTuple):
    """``id``: of the account whose key it is."""

    id: str
    access_key: str
    secret_key: str


class Site:
    """Without accounts, unless there are names for them; the first one is an administrator's. Ends as a context."""

    def __init__(self, folder: Path, *accounts: str, store: str = "memory", reports: Path | None = None) -> None:
        self.keys = {name: _add(folder / "data", name) for name in accounts}
        self.server = Server(folder, "--workers", "0", store="sqlite" if accounts else store)
        self.console = Console(folder, self.server.endpoint, *(["--reports", str(reports)] if reports else []))

    @property
    def origin(self) -> str:
        return self.console.origin

    def sqs(self, account: str | None = None) -> Any:
        """A boto3 client of that account."""
        if account is None:
            return self.server.client()
        key = self.keys[account]
        session = boto3.Session(key.access_key, key.secret_key, region_name=REGION)
        return session.client("sqs", endpoint_url=self.server.endpoint, config=config())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (self.console.process, self.server.process):
            if process.exit_code is None:
                process.stop()


def _add(data: Path, name: str) -> Key:
    command = [*COMMAND, "account", "add", name, "--data", str(data), "--password-stdin", "--json"]
    made = subprocess.run(
        command, input=PASSWORD, text=True, check=True, capture_output=True, timeout=_TIMEOUT_S, env=isolated()
    )
    told = json.loads(made.stdout)
    return Key(told["account_id"], told["access_key"], told["secret_key"])
