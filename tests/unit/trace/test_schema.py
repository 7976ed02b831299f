"""The schema of traces is exactly the documented one."""

import subprocess
import sys

import pyarrow as pa
import pytest

from rockdove.trace import COLUMNS, OPS, Event, MissingExtra, schema
from rockdove.trace.schema import RECORDERS

TIME = pa.timestamp("us", tz="UTC")


def test_the_columns_and_their_types() -> None:
    expected = pa.schema(
        [
            ("event_time", TIME),
            ("node", pa.string()),
            ("side", pa.string()),
            ("account", pa.string()),
            ("queue", pa.string()),
            ("physical", pa.int32()),
            ("op", pa.string()),
            ("message_id", pa.string()),
            ("group_id", pa.string()),
            ("sender", pa.string()),
            ("seq", pa.int64()),
            ("receiver", pa.string()),
            ("attempt", pa.int32()),
            ("sent_at", TIME),
            ("enqueued_at", TIME),
            ("dequeued_at", TIME),
            ("latency_us", pa.int64()),
            ("bytes", pa.int64()),
            ("checksum_ok", pa.bool_()),
            ("status", pa.int32()),
        ]
    )
    assert schema().equals(expected, check_metadata=True)


def test_the_operations() -> None:
    assert set(OPS) == {
        "send",
        "receive",
        "miss",
        "delete",
        "change_visibility",
        "expire",
        "dead_letter",
        "redrive",
        "purge",
    }


def test_an_event_has_every_column_but_the_recorders_own_in_the_same_order() -> None:
    assert list(Event._fields) == [name for name in COLUMNS if name not in RECORDERS]


def test_traces_are_imported_without_pyarrow() -> None:
    code = "import sys, rockdove.trace; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_pyarrow_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rockdove\[trace\]'"):
        schema()
