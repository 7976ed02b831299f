"""Commands run in this process, in a folder of their own, against a shared server."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rockdove.cli.main import run
from rockdove.client import Client
from tests.support.server import Server, ServerFactory
from tests.unit.cli.outcome import Cli, Outcome


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        # Not in the folder where commands run: what is there is the test's.
        source = tmp_path.with_name(f"{tmp_path.name}.stdin")
        source.write_bytes(stdin)
        capfd.readouterr()
        # What cannot be decoded is passed on, as under systemd or cron, where there is no locale.
        with source.open(encoding="utf-8", errors="surrogateescape") as opened:
            monkeypatch.setattr(sys, "stdin", opened)
            code = run(arguments)
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return call


@pytest.fixture
def shared(server: ServerFactory, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A running server that the commands find by themselves."""
    found = server.shared()
    monkeypatch.setenv("ROCKDOVE_ENDPOINT", found.endpoint)
    return found


@pytest.fixture
def client(shared: Server) -> Any:
    with Client(shared.endpoint) as client:
        yield client


@pytest.fixture
def queue(client: Client, new_name: Callable[..., str]) -> str:
    """The name of a new standard queue."""
    name = new_name()
    client.create_queue(name)
    return name
