"""``rockdove serve``: what it prints, and what it says when it cannot."""

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from rockdove import __version__
from rockdove.cli.announcement import url_of
from rockdove.client import Client, Retry
from rockdove.store.folder import DATABASE, Folder
from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.server import COMMAND, Server, ServerFactory
from tests.unit.cli.outcome import Cli, buffered


def snippet(server: Server) -> str:
    """What is between the data folder and the ready line."""
    lines = server.process.out.read_text().splitlines()
    return "\n".join(lines[2:-1])


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_it_says_where_data_lives_and_how_to_use_it_and_then_ready(server: ServerFactory, store: str) -> None:
    own = server(store=store)
    lines = own.process.out.read_text().splitlines()
    where = str(own.data) if store == "sqlite" else "in memory; nothing is kept when the service ends"
    assert lines[:2] == [f"Rockdove {__version__}", f"data: {where}"]
    assert lines[-1] == f"ready http://127.0.0.1:{own.port}"
    pasted = subprocess.run(
        [sys.executable, "-c", snippet(own)], capture_output=True, env=isolated(), text=True, timeout=60
    )
    assert (pasted.stdout, pasted.stderr) == ("Hello, world!\n", "")
    assert own.stop() == 0
    assert own.process.err.read_text() == ""


def test_a_port_in_use_is_told_with_what_to_do(cli: Cli, shared: Server) -> None:
    outcome = cli("serve", "--port", str(shared.port), "--data", "other")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"rockdove: port {shared.port} of 127.0.0.1 is in use; stop what listens there, or choose another with --port "
        "(0 takes any free one)\n"
    )


def test_a_folder_in_use_is_refused_with_the_process(cli: Cli, shared: Server) -> None:
    outcome = cli("serve", "--port", "0", "--data", str(shared.data))
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err.count("\n") == 1
    assert f"process {shared.process.pid};" in outcome.err
    assert "--data" in outcome.err


def test_a_folder_that_is_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = cli("serve", "--port", "0", "--data", "file")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rockdove: cannot use the data folder file: ")


def test_a_folder_without_the_right_to_write(cli: Cli) -> None:
    """Not even root may write to the kernel's files."""
    outcome = cli("serve", "--port", "0", "--data", "/proc/rockdove")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rockdove: cannot use the data folder /proc/rockdove: ")


@pytest.mark.parametrize("damage", ["newer", "junk", "foreign"])
def test_data_that_this_program_cannot_read(cli: Cli, tmp_path: Path, damage: str) -> None:
    folder = Folder(tmp_path / "data")
    folder.path.mkdir()
    if damage == "junk":
        folder.database.write_bytes(b"nonsense" * 1000)
    elif damage == "foreign":
        db = apsw.Connection(str(folder.database))
        db.execute("CREATE TABLE other (x)")
        db.close()
    else:
        db = folder.connect()
        db.pragma("user_version", 99)
        db.close()
    outcome = cli("serve", "--port", "0")
    assert (outcome.code, outcome.out) == (1, "")
    assert DATABASE in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused(cli: Cli, tmp_path: Path, host: str) -> None:
    outcome = cli("serve", "--port", "0", "--host", host)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == (
        f"rockdove: will not listen on {host}: others could reach it there, and there are no accounts to keep them "
        'out; add one with "rockdove account add NAME --data data", or use --host 127.0.0.1\n'
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_so_it_is_with_data_that_has_no_accounts(cli: Cli, tmp_path: Path, store: str) -> None:
    folder = Folder(tmp_path / "data")
    folder.path.mkdir()
    folder.connect().close()
    outcome = cli("serve", "--port", "0", "--host", "192.0.2.1", "--store", store)
    assert (outcome.code, outcome.out) == (5, "")
    assert "rockdove account add NAME --data data" in outcome.err
    # And the folder is free again.
    folder.connect().close()


def test_an_address_that_does_not_exist(cli: Cli) -> None:
    outcome = cli("serve", "--port", "0", "--host", "no such host")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1


def test_addresses_are_written_as_urls_have_them() -> None:
    assert url_of("127.0.0.1", 1) == "http://127.0.0.1:1"
    assert url_of("::1", 9324) == "http://[::1]:9324"


def test_it_serves_on_when_nobody_reads_its_output(tmp_path: Path) -> None:
    port = free_port()
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "serve", "--store", "memory", "--port", str(port)]
    child = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, env=buffered())
    os.close(write)
    try:
        with Client(f"http://127.0.0.1:{port}", retry=Retry(attempts=100, max_s=0.2)) as client:
            assert client.create_queue("q")
    finally:
        child.terminate()
        _, err = child.communicate(timeout=10)
    assert (child.returncode, err) == (0, b"")
