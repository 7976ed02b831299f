"""All queues together: what the tasks found is added up."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rockdove.spark import share
from rockdove.spark.measure import ADDED, TOTAL
from rockdove.spark.queue import PERCENTILES


def sums(rows: pa.Table, windows: int) -> pa.Table:
    """From the rows of `measure.EVERY` one for the whole time and for each of so many windows: sums and percentiles.

    Windows between the last event of one queue and the first of another have a row, too: a line that is drawn through
    what comes before and after would tell of messages that never were.
    """
    nothing = pa.table({"window": np.arange(windows), **{name: np.zeros(windows, np.int64) for name in ADDED}})
    found = rows.filter(pc.equal(rows["kind"], TOTAL)).select(["window", *ADDED])
    totals = pa.concat_tables([found, nothing]).group_by("window").aggregate([(name, "sum") for name in ADDED])
    totals = totals.rename_columns(["window", *ADDED])
    found = _percentiles(rows.filter(pc.not_equal(rows["kind"], TOTAL)))
    for name in PERCENTILES:
        values = [found.get((window, name)) for window in totals["window"].to_pylist()]
        totals = totals.append_column(name, pa.array(values, pa.int64()))
    return totals


def _percentiles(buckets: pa.Table) -> dict[tuple[int, str], int | None]:
    gathered: dict[tuple[int, str], list[tuple[pa.Scalar, pa.Scalar]]] = {}
    columns = (buckets[name] for name in ("window", "kind", "bucket", "times"))
    for window, kind, values, times in zip(*columns, strict=True):
        gathered.setdefault((window.as_py(), kind.as_py()), []).append((values, times))
    found = {}
    for (window, kind), parts in gathered.items():
        values, times = (np.concatenate([part[side].values.to_numpy() for part in parts]) for side in (0, 1))
        for at in share.SHARES:
            found[window, f"{kind}_p{round(at * 100)}_us"] = share.percentile(values, times, at)
    return found
