"""When messages arrived: times between arrivals, and numbers of them in windows.

Arrivals are cut into slots of time that tasks go through side by side; the few gaps from one slot to the next are taken
from the slots' ends.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rockdove.capacity.fit.dispersion import windows
from rockdove.capacity.fit.histogram import Histogram, rows
from rockdove.spark.calibrate.times import collect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# So many at most, each with this many arrivals at least: their ends are brought to the driver.
_MOST_SLOTS: Final = 2_000
_IN_A_SLOT: Final = 1_000


class Arrivals(NamedTuple):
    """Times between arrivals, and how many windows had how many arrivals."""

    gaps: Histogram
    windows: dict[int, int]


def arrivals(sent: "DataFrame", number: int, first: int, last: int) -> Arrivals:
    """`sent` has the column of that name, in microseconds: `number` of them, more than one, from `first` to `last`."""
    # Not 0, even if all came at once.
    length = max(last - first, 1)
    slots = min(max(number // _IN_A_SLOT, 1), _MOST_SLOTS)
    return Arrivals(_gaps(sent, first, length, slots), _windows(sent, number, first, length))


def _gaps(sent: "DataFrame", first: int, length: int, slots: int) -> Histogram:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    in_slot = sent.select("sent", _part(first, length, slots).alias("slot"))
    before = f.lag("sent").over(Window.partitionBy("slot").orderBy("sent"))
    within = collect(in_slot.select((f.col("sent") - before).alias("gap")), f.col("gap"))
    ends = in_slot.groupBy("slot").agg(f.min("sent"), f.max("sent")).orderBy("slot").collect()
    between = [(later[1] - earlier[2]) / 1e6 for earlier, later in pairwise(ends)]
    return Histogram.of_rows([*within, *rows(between)])


def _windows(sent: "DataFrame", number: int, first: int, length: int) -> dict[int, int]:
    from pyspark.sql import functions as f

    parts = windows(number)
    counts = sent.groupBy(_part(first, length, parts).alias("window")).agg(f.count("*").alias("arrivals"))
    found = {
        row["arrivals"]: row["windows"]
        for row in counts.groupBy("arrivals").agg(f.count("*").alias("windows")).collect()
    }
    empty = parts - sum(found.values())
    return found | ({0: empty} if empty else {})


def _part(first: int, length: int, parts: int) -> "Column":
    """Which of so many equal parts of the time."""
    from pyspark.sql import functions as f

    place = f.floor((f.col("sent") - f.lit(first)).cast("double") / f.lit(length) * f.lit(parts))
    return f.least(place, f.lit(parts - 1)).cast("int")
