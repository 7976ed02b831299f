"""What Spark is told of options when a table is loaded, before any query is started."""

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from rockdove.spark.datasource import RockdoveSource
from rockdove.spark.service.option import BadOption


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"numPartitions": "0"}, "option numPartitions"),
        ({"maxMessagesPerTrigger": "many"}, "option maxMessagesPerTrigger"),
        ({"waitTimeSeconds": "21"}, "option waitTimeSeconds"),
        ({"visibilityTimeoutSeconds": "0"}, "option visibilityTimeoutSeconds"),
        ({"consumer": "ü"}, "option consumer"),
        ({"journal": "s3://bucket/folder"}, "option journal"),
        ({"service": "sqs"}, "option journal is missing: .* stream"),
        ({"service": "kafka"}, "option service"),
        ({"endpoint": "nonsense"}, "option endpoint"),
        ({"patienceSeconds": "soon"}, "option patienceSeconds"),
        ({"secretKey": "s"}, "option accessKey"),
        ({"mode": "drain"}, "option leaseId"),
        ({"leaseId": "x"}, "option leaseId"),
        ({"maxMessages": "0"}, "option maxMessages"),
        ({"mode": "peek", "consumer": "c"}, "option consumer is for streams"),
        ({"queue": ""}, "option queue"),
    ],
)
def test_a_wrong_option_is_told_when_the_table_is_loaded(given: dict[str, str], named: str) -> None:
    with pytest.raises(BadOption, match=named):
        RockdoveSource({"queue": "q", **given}).schema()


@pytest.mark.parametrize(
    "given", [{}, {"service": "sqs", "journal": "/j"}, {"mode": "drain", "leaseId": "x"}, {"maxMessages": "5"}]
)
def test_options_that_fit_a_stream_or_a_batch_are_taken(given: dict[str, str]) -> None:
    assert RockdoveSource({"queue": "q", **given}).schema().startswith("message_id STRING, body STRING")


def test_a_stream_that_cannot_be_read_says_so_when_it_is_asked() -> None:
    source = RockdoveSource({"queue": "q", "mode": "drain", "leaseId": "x"})
    stream = source.streamReader(StructType([StructField("body", StringType())]))
    with pytest.raises(BadOption, match="option mode is for batches"):
        stream.initialOffset()
    with pytest.raises(BadOption, match="option mode is for batches"):
        stream.partitions({}, {})
    stream.stop()
