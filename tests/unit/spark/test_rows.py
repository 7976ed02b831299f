"""TableRows of a table as dictionaries."""

import pyarrow as pa

from rockdove.spark import figure


def test_rows_are_those_of_arrow() -> None:
    table = pa.table(
        {
            "name": ["a", None, "c"],
            "whole": pa.array([1, 2, 3]),
            "some": pa.array([None, 2**62, -1], pa.int64()),
            "rate": pa.array([0.5, None, 2.0]),
            "none": pa.nulls(3, pa.float64()),
            "drained": [True, False, None],
            "first": pa.array([0, None, 5], figure.TIME),
        }
    )
    halves = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    rows = figure.TableRows(halves)
    assert list(rows) == rows[:] == table.to_pylist()
    assert (len(rows), rows[-1], rows[1:1]) == (3, table.to_pylist()[-1], [])
    assert rows.column("some") == [None, 2**62, -1]
    assert list(figure.TableRows(table.slice(0, 0))) == []
    assert type(rows[1]["some"]) is int
