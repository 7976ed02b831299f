"""``rockdove backup``: a copy of a service that is at work, and a service started on it."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from rockdove.client import Client, Outgoing
from rockdove.core.errors import DataFolderError
from rockdove.store.sqlite.backup import copy
from rockdove.store.sqlite.folder import DATABASE, Folder
from rockdove.wire.extension import PeekedMessage
from tests.support.environment import isolated
from tests.support.server import COMMAND, Server, ServerFactory
from tests.unit.cli.outcome import Cli


class Load:
    """Sends numbers until told to stop; `acknowledged` are those that the service has confirmed."""

    def __init__(self, endpoint: str) -> None:
        self.acknowledged = 0
        self._endpoint = endpoint
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        with Client(self._endpoint) as client:
            while not self._stopped.is_set():
                client.send("load", str(self.acknowledged))
                self.acknowledged += 1

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._stopped.set()
        self._thread.join()


def everything(client: Client, queue: str) -> list[PeekedMessage]:
    return client.peek(queue, limit=100)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A data folder that no service uses."""
    folder = Folder(tmp_path / "data")
    folder.path.mkdir()
    folder.connect().close()
    return folder


def test_a_copy_under_load_is_the_service_at_one_moment(server: ServerFactory, tmp_path: Path) -> None:
    own = server()
    with Client(own.endpoint) as client:
        client.create_queue("load")
        client.create_queue("plain", attributes={"VisibilityTimeout": "600"}, tags={"team": "red"})
        client.create_queue("order.fifo", attributes={"FifoQueue": "true"})
        client.send_batch(
            "plain", [Outgoing(body=f"{n} grüße", attributes={"n": n}, delay_s=600 * (n % 2)) for n in range(80)]
        )
        client.send_batch(
            "order.fifo", [Outgoing(body=str(n), group_id=str(n % 3), deduplication_id=str(n)) for n in range(20)]
        )
        held = client.receive("plain", limit=5)
        with Load(own.endpoint) as load:
            while load.acknowledged < 50:
                time.sleep(0.01)
            before = load.acknowledged
            report = _backup(own, tmp_path / "copy")
            after = load.acknowledged
        assert after > before, "the service must have been at work meanwhile"
        expected = {name: everything(client, name) for name in ("plain", "order.fifo")}
        attributes = client.attributes("plain")
    assert report["bytes"] == (tmp_path / "copy" / DATABASE).stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]
    with _started(server, tmp_path / "copy") as client:
        assert {name: everything(client, name) for name in expected} == expected
        assert client.attributes("plain") == attributes
        assert client.tags("plain") == {"team": "red"}
        # What was received before the copy was made can be deleted in the copy.
        assert client.delete_batch("plain", [message.receipt_handle for message in held]).failed == []
        loaded = _drained(client, "load")
        assert loaded == [str(number) for number in range(len(loaded))]
        assert before <= len(loaded) <= after + 1
    own.stop()


def _backup(server: Server, destination: Path) -> dict[str, int]:
    command = [*COMMAND, "backup", str(destination), "--data", str(server.data), "--json"]
    done = subprocess.run(command, capture_output=True, env=isolated(), text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    report: dict[str, int] = json.loads(done.stdout)
    return report


@contextmanager
def _started(server: ServerFactory, data: Path) -> Iterator[Client]:
    """A client of a service that was started on a data folder."""
    own = server(f"--data={data}")
    with Client(own.endpoint) as client:
        yield client
    own.stop()


def _drained(client: Client, queue: str) -> list[str]:
    bodies: list[str] = []
    while messages := client.receive(queue, limit=100, visibility_s=600):
        bodies += [message.body for message in messages]
    return bodies


def test_a_service_that_was_killed_can_be_copied(server: ServerFactory, tmp_path: Path) -> None:
    """What it had acknowledged may still be in the write-ahead log alone."""
    own = server()
    with Client(own.endpoint) as client:
        client.create_queue("q")
        client.send_batch("q", map(str, range(30)))
    own.kill()
    _backup(own, tmp_path / "copy")
    with _started(server, tmp_path / "copy") as client:
        assert [message.body for message in everything(client, "q")] == [str(number) for number in range(30)]


def test_it_is_told_where_to_find_the_copy(cli: Cli, folder: Folder) -> None:
    outcome = cli("backup", "copy")
    assert outcome.code == 0
    assert outcome.out.startswith("copied ")
    assert outcome.out.endswith("rockdove serve --data copy --port 0\n")
    assert (Path("copy") / DATABASE).stat().st_mode & 0o777 == 0o600
    assert Path("copy").stat().st_mode & 0o777 == 0o700


def test_an_empty_folder_will_do(cli: Cli, folder: Folder) -> None:
    Path("copy").mkdir()
    assert cli("backup", "copy").code == 0
    assert (Path("copy") / DATABASE).exists()


@pytest.mark.parametrize("make", [lambda path: path.touch(), lambda path: (path.mkdir(), (path / "file").touch())])
def test_what_is_there_is_not_touched(cli: Cli, folder: Folder, make: object) -> None:
    path = Path("copy")
    make(path)  # type: ignore[operator]
    outcome = cli("backup", "copy")
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == "rockdove: copy is there already and is not empty; name a new folder\n"
    assert not (path / DATABASE).exists()


@pytest.mark.parametrize("name", ["data/copy", "data/deep/copy", "other/../data/copy"])
def test_the_data_folder_is_no_place_for_a_copy(cli: Cli, folder: Folder, name: str) -> None:
    Path("other").mkdir()
    outcome = cli("backup", name)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == f"rockdove: {name} is in the data folder itself; name a new folder elsewhere\n"
    assert not Path(name).exists()


def test_no_data_is_3(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("backup", "copy")
    assert outcome.code == 3
    assert (
        outcome.err == "rockdove: there is no rockdove.db in data; name the folder that the service uses with --data\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["junk", "foreign", "newer"])
def test_what_is_no_data_of_ours_is_not_copied(cli: Cli, folder: Folder, tmp_path: Path, damage: str) -> None:
    if damage == "junk":
        folder.database.write_bytes(b"nonsense" * 1000)
    else:
        db = apsw.Connection(str(folder.database))
        db.pragma(*(("application_id", 7) if damage == "foreign" else ("user_version", 99)))
        db.close()
    outcome = cli("backup", "copy")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_copy_that_is_broken_off_leaves_nothing(folder: Folder, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(folder.path, tmp_path / "copy", interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_place_that_cannot_be_written(folder: Folder) -> None:
    with pytest.raises(DataFolderError, match="cannot write /proc/copy"):
        copy(folder.path, Path("/proc/copy"))
