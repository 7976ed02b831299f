"""The journal: what it has, it has for good, and once."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from rockdove.spark.source import column
from rockdove.spark.source.journal import Journal, JournalError
from rockdove.wire.shape import Message

LATER = 10**15

Open = Callable[[], Journal]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens the journal of the test, again if need be; closed in the end."""
    with ExitStack() as stack:

        def open_() -> Journal:
            journal = Journal(tmp_path, "q")
            stack.callback(journal.close)
            return journal

        yield open_


def message(name: str) -> Message:
    return Message(message_id=name, receipt_handle="r", md5_of_body="", body=f"body of {name}")


def append(journal: Journal, *names: str, until: int = LATER) -> int:
    return journal.append(column.table([message(name) for name in names]), [until] * len(names))


def ids(journal: Journal, begin: int, end: int, number: int = 3) -> list[str]:
    segments = journal.segments(begin, end, number)
    return [each for segment in segments for batch in segment.read() for each in batch["message_id"].to_pylist()]


def test_rows_are_there_again_after_a_restart(opened: Open) -> None:
    journal = opened()
    assert (append(journal, "a", "b"), append(journal, "c")) == (1, 2)
    journal.close()
    again = opened()
    assert (again.id, again.last, again.cut) == (journal.id, 2, 0)
    assert ids(again, 0, 2) == ["a", "b", "c"]
    assert ids(again, 1, 2) == ["c"]
    assert ids(again, 2, 2) == []


def test_ids_are_known_from_the_moment_that_the_rows_are_there(opened: Open, tmp_path: Path) -> None:
    journal = opened()
    append(journal, "a", "b")
    journal.close()
    # A crash between the two: the rows are there, their ids are not.
    with sqlite3.connect(tmp_path / "seen.sqlite") as base:
        base.execute("DELETE FROM seen")
    base.close()
    assert opened().unseen(["a", "b", "c"]) == {"c"}


def test_ids_outlive_their_rows_until_their_time_is_over(opened: Open, tmp_path: Path) -> None:
    journal = opened()
    append(journal, "a", until=100)
    append(journal, "b", until=LATER)
    journal.truncate(2, now=99)
    assert journal.unseen(["a", "b"]) == set()
    append(journal, "c")
    journal.truncate(3, now=101)
    assert journal.unseen(["a", "b", "c"]) == {"a"}
    assert not list(tmp_path.glob("*.arrow"))


def test_sequences_go_on_after_all_was_cut(opened: Open) -> None:
    journal = opened()
    append(journal, "a")
    journal.truncate(1, now=0)
    journal.close()
    again = opened()
    assert (again.last, again.cut, append(again, "b")) == (1, 1, 2)


def test_what_was_cut_or_lost_is_an_error_and_not_nothing(opened: Open) -> None:
    journal = opened()
    append(journal, "a")
    journal.truncate(1, now=0)
    with pytest.raises(JournalError, match="kept together"):
        ids(journal, 0, 1)


def test_half_a_file_is_never_read(opened: Open, tmp_path: Path) -> None:
    journal = opened()
    append(journal, "a")
    journal.close()
    (tmp_path / "2.draft").write_bytes(b"half")
    again = opened()
    assert again.last == 1
    assert append(again, "b") == 2
    assert ids(again, 0, 2) == ["a", "b"]


def test_many_rows_are_cut_for_many_tasks(opened: Open) -> None:
    journal = opened()
    names = [f"m{n}" for n in range(4_500)]
    append(journal, *names)
    assert len(journal.segments(0, 1, 4)) == 3
    assert len(journal.segments(0, 1, 100)) == 5
    assert ids(journal, 0, 1, 4) == names


def test_a_second_query_is_kept_out(opened: Open, tmp_path: Path) -> None:
    journal = opened()
    append(journal, "a")
    code = (
        "import pathlib, sys; from rockdove.spark.source.journal import Journal; "
        "Journal(pathlib.Path(sys.argv[1]), 'q', wait_s=0)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "does another query use it?" in done.stderr


def test_another_format_is_refused(opened: Open, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "seen.sqlite") as base:
        base.execute("PRAGMA user_version = 9")
    base.close()
    with pytest.raises(JournalError, match="format 9"):
        opened()
    (tmp_path / "seen.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(JournalError, match="holds no journal"):
        opened()


def test_the_journal_of_another_queue_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, "one").close()
    with pytest.raises(JournalError, match="journal of the queue one, not of two"):
        Journal(tmp_path, "two")
    Journal(tmp_path, "one").close()


def test_a_journal_from_before_it_had_a_queue_goes_on(tmp_path: Path) -> None:
    old = Journal(tmp_path, "one")
    old.close()
    with closing(sqlite3.connect(tmp_path / "seen.sqlite")) as base:
        base.execute("DROP TABLE origin")
    again = Journal(tmp_path, "one")
    assert again.id == old.id
    again.close()


def test_a_folder_that_can_be_none_names_the_option(tmp_path: Path) -> None:
    file, taken = tmp_path / "file", tmp_path / "taken"
    file.touch()
    (taken / "seen.sqlite").mkdir(parents=True)
    for folder in (file, file / "below", taken):
        with pytest.raises(JournalError, match=f"the option journal: {folder} cannot be a folder for it"):
            Journal(folder, "q")
