"""A stream that cannot be read, and says why as soon as Spark asks for anything.

Spark does not expect that a reader cannot be made: its worker ends with an error of its own after the one that matters.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from rockdove.core.errors import RockdoveError


class BrokenStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Raises ``why``, whatever is asked first."""

    def __init__(self, why: RockdoveError) -> None:
        self._why = why

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._tell()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        self._tell()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        self._tell()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        self._tell()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        self._tell()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        self._tell()

    def _tell(self) -> NoReturn:
        raise self._why
