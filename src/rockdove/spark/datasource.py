"""The format ``rockdove``: queues that Spark reads and writes."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)

from rockdove.core.errors import RockdoveError
from rockdove.spark.service import place
from rockdove.spark.service.kind import is_rockdove
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.sink import option as sink
from rockdove.spark.source import option as source
from rockdove.spark.source import schema as columns

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class RockdoveSource(DataSource):
    """Spark makes instances of it in several processes; each reads the options anew."""

    @classmethod
    def name(cls) -> str:
        return "rockdove"

    def schema(self) -> str:
        """Spark asks when a table is loaded; what is wrong should be told then, and not when a query is started."""
        options = self._source_options()
        source.check(options, place.find(options).service)
        return columns.ddl(options)

    def reader(self, schema: "StructType") -> DataSourceReader:
        from rockdove.spark.source.batch import Drain, Peek

        options = self._source_options()
        chosen, where, table = source.for_batch(options), place.find(options), columns.table(options, schema)
        with told(where):
            if not is_rockdove(where):
                raise Refused(
                    f"{where.name} is not Rockdove: other services let nobody look without hiding messages, nor read "
                    "again what was taken. Read it as a stream (spark.readStream)"
                )
        if chosen.lease_id is not None:
            return Drain(where, table, chosen.lease_id, chosen.most, chosen.partitions)
        return Peek(where, table, chosen.most, chosen.partitions, chosen.chosen)

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:  # noqa: N802
        from rockdove.spark.source.broken import BrokenStream

        try:
            return self._stream(schema)
        except RockdoveError as why:
            return BrokenStream(why)

    def _stream(self, schema: "StructType") -> DataSourceStreamReader:
        from rockdove.spark.source.lease import LeaseStream
        from rockdove.spark.source.log import JournalStream

        options = self._source_options()
        chosen, where, table = source.for_stream(options), place.find(options), columns.table(options, schema)
        with told(where):
            once = is_rockdove(where)
        if once:
            return LeaseStream(where, table, chosen)
        if chosen.journal is None:
            raise source.no_journal(f"{where.name}, which is not Rockdove,")
        if chosen.per_second is not None:
            raise BadOption(f"the option {source.PER_SECOND} is for queues of Rockdove, not for those behind a journal")
        return JournalStream(where, table, chosen, chosen.journal)

    def writer(self, schema: "StructType", overwrite: bool) -> DataSourceArrowWriter:
        from rockdove.spark.sink.writer import BatchWriter

        options = self._sink_options(schema)
        if overwrite:
            raise BadOption('a queue cannot be overwritten: use mode("append")')
        chosen, where = sink.for_batch(options), place.find(options)
        with told(where):
            return BatchWriter(where, chosen, is_rockdove(where))

    def streamWriter(self, schema: "StructType", overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        from rockdove.spark.sink.writer import StreamWriter

        options = self._sink_options(schema)
        if overwrite:
            raise BadOption(
                'a queue cannot be overwritten: use outputMode("append"), or foreachBatch with df.write and the '
                "options application and batch"
            )
        chosen, where = sink.for_stream(options), place.find(options)
        with told(where):
            return StreamWriter(where, chosen, is_rockdove(where))

    def _source_options(self) -> Options:
        options = Options(self.options)
        options.refuse_unknown(source.NAMES)
        return options

    def _sink_options(self, schema: "StructType") -> Options:
        from pyspark.sql.pandas.types import to_arrow_schema

        from rockdove.spark.sink.row import check

        options = Options(self.options)
        options.refuse_unknown(sink.NAMES)
        check(to_arrow_schema(schema, timezone="UTC"))
        return options
