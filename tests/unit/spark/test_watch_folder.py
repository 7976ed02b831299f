"""The folder of a watch: who may use it, and how a batch becomes visible."""

import os
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.spark.watch.batch import close
from rockdove.spark.watch.folder import METRICS, OPEN, PROGRESS, Folder, FolderRefused
from rockdove.spark.watch.progress import Piece, Progress, decode, encode

TEN_S = 10_000_000


def table(*ends_s: int) -> pa.Table:
    times = pa.array([end * 1_000_000 for end in ends_s], pa.timestamp("us", "UTC"))
    return pa.table({"window_end": times})


def ends(path: Path) -> list[int]:
    return [round(time.timestamp()) for time in pq.read_table(path)["window_end"].to_pylist()]


def test_one_watch_at_a_time(tmp_path: Path) -> None:
    with (
        Folder.held(tmp_path, "/trace", TEN_S),
        pytest.raises(FolderRefused, match="another watch is writing to"),
        Folder.held(tmp_path, "/trace", TEN_S),
    ):
        pass
    with Folder.held(tmp_path, "/trace", TEN_S):
        pass


@pytest.mark.parametrize(
    ("trace", "window_us", "said"),
    [
        ("/trace", 5_000_000, "has windows of 10s, not of 5s; give --window 10s, or another --out"),
        ("/other", TEN_S, "has the figures of /trace, not of /other; give another --out"),
    ],
)
def test_a_folder_is_for_one_trace_and_one_window(tmp_path: Path, trace: str, window_us: int, said: str) -> None:
    with Folder.held(tmp_path, "/trace", TEN_S):
        pass
    with pytest.raises(FolderRefused, match=said), Folder.held(tmp_path, trace, window_us):
        pass


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / METRICS).mkdir()
    with pytest.raises(FolderRefused, match="not the folder of a watch"), Folder.held(tmp_path, "/trace", TEN_S):
        pass


@pytest.mark.parametrize("text", [b"{", b'{"format": 2, "trace": "/trace", "window_us": 1}'])
def test_progress_of_another_version_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / PROGRESS).write_bytes(text)
    with pytest.raises(FolderRefused, match="not what this version"), Folder.held(tmp_path, "/trace", TEN_S):
        pass


def test_progress_survives_its_file() -> None:
    progress = Progress(
        trace="/trace", window_us=TEN_S, batch=3, pieces=[Piece("messages-1", 2, 5)], publish={"a": "b"}
    )
    assert decode(encode(progress)) == progress


def test_nothing_of_a_batch_shows_before_it_is_committed(tmp_path: Path) -> None:
    with Folder.held(tmp_path, "/trace", TEN_S) as folder:
        staged = dict([folder.stage(table(10), OPEN), folder.stage(table(20), f"{METRICS}/batch-00000000.parquet")])
        assert not list(tmp_path.glob("[!.]*/[!.]*.parquet"))
        assert not (tmp_path / OPEN).exists()
        folder.commit(msgspec.structs.replace(folder.progress, batch=0, publish=staged))
    assert ends(tmp_path / OPEN) == [10]
    assert ends(tmp_path / METRICS) == [20]


def test_a_batch_that_was_not_committed_leaves_nothing(tmp_path: Path) -> None:
    with Folder.held(tmp_path, "/trace", TEN_S) as folder:
        folder.stage(table(20), f"{METRICS}/batch-00000000.parquet")
        folder.fresh("events").mkdir()
    with Folder.held(tmp_path, "/trace", TEN_S) as folder:
        assert folder.progress.batch == -1
        assert os.listdir(tmp_path / METRICS) == os.listdir(folder.state) == []


def test_a_batch_that_was_committed_is_published_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Folder.held(tmp_path, "/trace", TEN_S) as folder:
        staged = dict([folder.stage(table(20), f"{METRICS}/batch-00000000.parquet")])
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "publish", lambda self: None)
            folder.commit(msgspec.structs.replace(folder.progress, batch=0, publish=staged))
        assert not list((tmp_path / METRICS).glob("[!.]*"))
    with Folder.held(tmp_path, "/trace", TEN_S):
        assert ends(tmp_path / METRICS) == [20]
    with Folder.held(tmp_path, "/trace", TEN_S):
        assert ends(tmp_path / METRICS) == [20]


def test_windows_that_nothing_more_can_come_for_are_closed(tmp_path: Path) -> None:
    with Folder.held(tmp_path, "/trace", TEN_S) as folder:
        assert close(folder, 10**15) is None
        staged = dict([folder.stage(table(10, 20, 30), OPEN)])
        folder.commit(msgspec.structs.replace(folder.progress, batch=0, closed_us=5_000_000, publish=staged))
        assert close(folder, 9_999_999) is None
        done = close(folder, 20_000_000)
        assert done is not None
        assert (len(done.closed), len(done.open), folder.progress.closed_us) == (2, 1, 20_000_000)
    assert ends(tmp_path / METRICS) == [10, 20]
    assert ends(tmp_path / OPEN) == [30]
