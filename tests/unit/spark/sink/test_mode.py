"""What can be done to a queue: rows are added, in batches and streams, and nothing else."""

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from rockdove.spark.datasource import RockdoveSource
from rockdove.spark.service.option import BadOption

BODY = StructType([StructField("body", StringType())])


def test_a_stream_that_would_overwrite_is_told_of_ways_that_there_are() -> None:
    with pytest.raises(BadOption) as told:
        RockdoveSource({"queue": "q"}).streamWriter(BODY, overwrite=True)
    assert str(told.value) == (
        'a queue cannot be overwritten: use outputMode("append"), or foreachBatch with df.write and the options '
        "application and batch"
    )


def test_a_table_that_would_overwrite_is_told_so() -> None:
    with pytest.raises(BadOption, match=r'cannot be overwritten: use mode\("append"\)'):
        RockdoveSource({"queue": "q"}).writer(BODY, overwrite=True)


def test_a_folder_that_there_cannot_be_is_told_before_anything_is_asked() -> None:
    """The endpoint has nobody: whoever asked it would wait."""
    with pytest.raises(BadOption, match="option rejectsPath"):
        RockdoveSource({"queue": "q", "rejectsPath": "bogus://x", "endpoint": "http://127.0.0.1:1"}).writer(
            BODY, overwrite=False
        )
