"""Options are checked, and what is wrong with one names it."""

import pytest

from rockdove.spark.service.option import BadOption, Options


def test_names_have_no_case() -> None:
    assert Options({"numpartitions": "3"}).number("numPartitions", 1, 9) == 3


def test_an_empty_value_is_none() -> None:
    assert Options({"consumer": ""}).text("consumer") is None


@pytest.mark.parametrize("value", ["0", "10", "two", "1.5", " "])
def test_a_number_out_of_range_names_the_option(value: str) -> None:
    with pytest.raises(BadOption, match="option numPartitions must be a whole number from 1 to 9"):
        Options({"numPartitions": value}).number("numPartitions", 1, 9)


def test_an_unknown_option_is_named_with_those_that_there_are() -> None:
    with pytest.raises(BadOption, match="no option quueue; the options are endpoint, queue"):
        Options({"quueue": "jobs"}).refuse_unknown(["queue", "endpoint"])


def test_what_spark_itself_adds_is_no_unknown_option() -> None:
    Options({"path": "jobs", "checkpointLocation": "/x"}).refuse_unknown(["queue"])


def test_a_table_of_the_catalog_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadOption, match=r"cannot be a table of Spark's catalog.* CREATE TEMPORARY VIEW"):
        Options({"queue": "jobs", "provider": "rockdove", "option.queue": "jobs"}).refuse_unknown(["queue"])


def test_a_choice_is_one_of_its_words() -> None:
    assert Options({"mode": "DRAIN"}).choice("mode", ("peek", "drain"), "peek") == "drain"
    assert Options({}).choice("mode", ("peek", "drain"), "peek") == "peek"
    with pytest.raises(BadOption, match="option mode must be peek or drain, not 'steal'"):
        Options({"mode": "steal"}).choice("mode", ("peek", "drain"), "peek")


def test_what_is_missing_is_named_with_the_reason() -> None:
    with pytest.raises(BadOption, match="option leaseId is missing: because"):
        Options({}).need("leaseId", "because")
