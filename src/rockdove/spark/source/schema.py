"""What a source's table looks like, from its options, and messages as rows of what Spark wants of it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from msgspec import Struct

from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.source import avro, sqltype
from rockdove.spark.source.body import FORMATS, Parser, python_type
from rockdove.spark.source.column import SCHEMA, SYSTEM, TYPES, UNPARSED, VALUE, Incoming, column

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BODY_FORMAT: Final = "bodyFormat"
BODY_SCHEMA: Final = "bodySchema"
COLUMNS: Final = "columns"
NAMES: Final = (BODY_FORMAT, BODY_SCHEMA, COLUMNS)


def ddl(options: Options) -> str:
    """The table in Spark's words. Raises `BadOption`."""
    columns = dict(TYPES)
    format_ = options.choice(BODY_FORMAT, FORMATS, "none")
    if format_ == "none":
        if options.text(BODY_SCHEMA) is not None:
            raise BadOption(f"the option {BODY_FORMAT} is missing: {BODY_SCHEMA} alone parses nothing")
    else:
        columns |= {VALUE: _value_type(format_, options), UNPARSED: "STRING"}
    # Names have no case, as those of the sink's columns.
    asked = options.text(COLUMNS)
    chosen = list(columns) if asked is None else [name.strip().lower() for name in asked.split(",")]
    for name in chosen:
        if name not in columns:
            raise BadOption(f"the option {COLUMNS}: there is no column {name!r}; the columns are {', '.join(columns)}")
    return ", ".join(f"{name} {columns[name]}" for name in dict.fromkeys(chosen))


def _value_type(format_: str, options: Options) -> str:
    given = options.need(BODY_SCHEMA, f"{BODY_FORMAT}={format_} needs to know what bodies hold")
    if format_ == "avro":
        found = _of_avro(given)
    else:
        found = given if given.lower().lstrip().startswith("struct<") else f"STRUCT<{given}>"
    try:
        sqltype.check(found)
    except sqltype.BadType as error:
        raise BadOption(f"the option {BODY_SCHEMA}: {error}") from None
    return found


def _of_avro(given: str) -> str:
    try:
        found = avro.columns(given)
    except avro.NoSchema as error:
        raise BadOption(f"the option {BODY_SCHEMA} is no Avro schema: {error}") from None
    except avro.NoType as error:
        raise BadOption(f"the option {BODY_SCHEMA}: Spark has no column for {error}") from None
    if not found.startswith("STRUCT<"):
        raise BadOption(f"the option {BODY_SCHEMA}: the Avro schema must be that of a record")
    return found


class Table(Struct, frozen=True):
    """The columns that Spark wants, in its order; pickled with readers."""

    schema: pa.Schema
    parser: Parser | None

    @property
    def message_attributes(self) -> tuple[str, ...]:
        """Which of the senders' attributes to ask a service for."""
        return ("All",) if "attributes" in self.schema.names else ()

    @property
    def system_attributes(self) -> tuple[str, ...]:
        """Which of SQS's own."""
        return tuple(SYSTEM[name] for name in self.schema.names if name in SYSTEM)

    def of_messages(self, messages: Sequence[Incoming]) -> pa.RecordBatch:
        names = [name for name in self.schema.names if name in TYPES]
        columns: dict[str, pa.Array] = {name: column(name, messages) for name in names}
        if self.parser is not None:
            columns |= self._parsed([message.body for message in messages])
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)

    def of_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """From a batch that has all columns of messages."""
        columns: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        if self.parser is not None:
            columns |= self._parsed(columns["body"].to_pylist())
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)

    def _parsed(self, bodies: Sequence[str]) -> dict[str, pa.Array]:
        assert self.parser is not None
        value, unparsed = self.parser.parse(bodies)
        return {VALUE: value, UNPARSED: unparsed}


def table(options: Options, wanted: "StructType") -> Table:
    """Raises `BadOption` if Spark was told to want columns that there are not."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(wanted, timezone="UTC")
    format_ = options.choice(BODY_FORMAT, FORMATS, "none")
    extra = () if format_ == "none" else (VALUE, UNPARSED)
    _check(schema, (*TYPES, *extra))
    if VALUE not in schema.names and UNPARSED not in schema.names:
        return Table(schema, None)
    if VALUE not in schema.names:
        raise BadOption(f"the column {UNPARSED} is nothing without the column {VALUE}")
    kind = schema.field(VALUE).type
    if format_ == "json":
        _check_json(kind)
    return Table(schema, Parser(format_, kind, options.text(BODY_SCHEMA) if format_ == "avro" else None))


def _check(schema: pa.Schema, known: Iterable[str]) -> None:
    for field in schema:
        if field.name not in known:
            raise BadOption(f"there is no column {field.name}; the columns are {', '.join(known)}")
        if field.name in TYPES and field.type != SCHEMA.field(field.name).type:
            raise BadOption(f"the column {field.name} is {TYPES[field.name]}")


def _check_json(kind: Any) -> None:
    try:
        python_type(kind)
    except TypeError as error:
        raise BadOption(f"the option {BODY_SCHEMA}: {error}") from None
