"""Where a queue is, from the options."""

import pytest

from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.service.place import find


def test_a_name_is_looked_for_at_the_endpoint() -> None:
    found = find(Options({"queue": "jobs", "endpoint": "http://queues.example:9324/"}))
    assert (found.queue, found.endpoint, found.name) == (
        "jobs",
        "http://queues.example:9324",
        "jobs at http://queues.example:9324",
    )


def test_a_url_names_the_endpoint_and_at_aws_the_region() -> None:
    found = find(Options({"queue": "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"}))
    assert (found.endpoint, found.region) == ("https://sqs.eu-west-1.amazonaws.com", "eu-west-1")
    assert find(Options({"queue": "http://h:1/0/jobs"})).region is None


def test_a_url_may_end_with_a_slash() -> None:
    found = find(Options({"queue": "http://h:1/0/jobs/"}))
    assert (found.queue, found.queue_name) == ("http://h:1/0/jobs", "jobs")


def test_an_endpoint_goes_before_that_of_the_url() -> None:
    assert find(Options({"queue": "http://h:1/0/jobs", "endpoint": "http://other:2"})).endpoint == "http://other:2"


def test_load_may_name_the_queue() -> None:
    assert find(Options({"path": "jobs"})).queue == "jobs"


@pytest.mark.parametrize(
    "given", [{"queue": "q", "endpoint": "http://me:hush@h:1"}, {"queue": "http://me:hush@h:1/0/q"}]
)
def test_a_password_in_an_address_is_not_repeated(given: dict[str, str]) -> None:
    with pytest.raises(BadOption, match=r"option endpoint: .* password") as caught:
        find(Options(given))
    assert "hush" not in str(caught.value)


def test_what_is_wrong_names_the_option() -> None:
    for given, named in [
        ({}, "option queue is missing"),
        ({"queue": "q", "endpoint": "ftp://x"}, "option endpoint: .*ftp"),
        ({"queue": "q", "patienceSeconds": "-1"}, "option patienceSeconds"),
        ({"queue": "q", "service": "kafka"}, "option service must be auto or rockdove or sqs"),
    ]:
        with pytest.raises(BadOption, match=named):
            find(Options(given))
