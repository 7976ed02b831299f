"""Where Spark finds the format ``rockdove`` by itself: it looks for packages of such a name."""

from rockdove.spark.datasource import RockdoveSource as DefaultSource

__all__ = ["DefaultSource"]
