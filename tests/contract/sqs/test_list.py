"""ListQueues: prefixes and pages."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import Services


@pytest.fixture(scope="module")
def prefix(sqs: Any) -> Iterator[str]:
    """Of five queues, made in another order than that of their names."""
    prefix = f"list-{uuid.uuid4().hex[:8]}-"
    urls = [sqs.create_queue(QueueName=f"{prefix}{letter}")["QueueUrl"] for letter in "cebda"]
    sqs.create_queue(QueueName=f"{prefix.upper()}-a")
    yield prefix
    for url in urls:
        sqs.delete_queue(QueueUrl=url)


def _names(answer: dict[str, Any]) -> list[str]:
    return [url.rpartition("-")[2] for url in answer.get("QueueUrls", [])]


def test_only_names_that_begin_with_the_prefix_are_listed(sqs: Any, prefix: str) -> None:
    answer = sqs.list_queues(QueueNamePrefix=prefix)
    assert sorted(_names(answer)) == ["a", "b", "c", "d", "e"]
    assert "NextToken" not in answer
    assert _names(sqs.list_queues(QueueNamePrefix=f"{prefix}d")) == ["d"]
    assert sqs.list_queues(QueueNamePrefix=f"{prefix}x").get("QueueUrls", []) == []


def test_the_urls_are_those_of_the_creation(sqs: Any, service: Any, prefix: str) -> None:
    [url] = sqs.list_queues(QueueNamePrefix=f"{prefix}a")["QueueUrls"]
    assert url == f"{service.endpoint}/000000000000/{prefix}a"


def test_pages_hold_as_many_as_asked_for_and_together_all(sqs: Any, prefix: str) -> None:
    first = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2)
    second = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, NextToken=first["NextToken"])
    third = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, NextToken=second["NextToken"])
    assert [len(_names(page)) for page in (first, second, third)] == [2, 2, 1]
    assert sorted(_names(first) + _names(second) + _names(third)) == ["a", "b", "c", "d", "e"]
    assert "NextToken" not in third


def test_a_page_that_holds_the_last_has_no_token(sqs: Any, prefix: str) -> None:
    assert "NextToken" not in sqs.list_queues(QueueNamePrefix=prefix, MaxResults=5)
    assert "NextToken" not in sqs.list_queues(QueueNamePrefix=prefix, MaxResults=1000)


def test_botocores_paginator_gets_them_all(sqs: Any, prefix: str) -> None:
    pages = list(sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}))
    assert sorted(name for page in pages for name in _names(page)) == ["a", "b", "c", "d", "e"]


def test_a_queue_made_between_two_pages_upsets_nothing(sqs: Any, prefix: str) -> None:
    first = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2)
    extra = sqs.create_queue(QueueName=f"{prefix}aa")["QueueUrl"]
    rest = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=10, NextToken=first["NextToken"])
    sqs.delete_queue(QueueUrl=extra)
    assert {"a", "b", "c", "d", "e"} <= {*_names(first), *_names(rest)}
    assert not {*_names(first)} & {*_names(rest)}


@pytest.mark.parametrize("number", [0, -1, 1001])
def test_the_size_of_a_page_is_1_to_1000(sqs: Any, number: int) -> None:
    with refused("InvalidParameterValue"):
        sqs.list_queues(MaxResults=number)


@pytest.mark.parametrize("token", ["nonsense", "%%%", "ä", "AAAA/+=="])
def test_a_token_that_is_none_is_refused(sqs: Any, prefix: str, token: str) -> None:
    with refused("InvalidParameterValue"):
        sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, NextToken=token)


def test_at_most_a_thousand_are_listed_and_a_token_only_for_who_set_the_size(services: Services) -> None:
    web = Web(services("memory").port)
    for number in range(1001):
        web.create(f"many-{number}")
    answer = web.call("ListQueues", {}).json
    assert len(answer["QueueUrls"]) == 1000
    assert "NextToken" not in answer
    first = web.call("ListQueues", {"MaxResults": 1000}).json
    second = web.call("ListQueues", {"MaxResults": 1000, "NextToken": first["NextToken"]}).json
    assert len({*first["QueueUrls"], *second["QueueUrls"]}) == 1001
    assert "NextToken" not in second
    web.close()
