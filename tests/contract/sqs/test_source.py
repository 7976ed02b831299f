"""ListDeadLetterSourceQueues, with pages."""

from typing import Any

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue, redrive


def _sources(queue: SqsQueue, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = queue.sqs.list_dead_letter_source_queues(QueueUrl=queue.url, **options)
    return answer


def test_sources_are_listed(make: QueueMaker) -> None:
    dead, other = make(), make()
    assert _sources(dead).get("queueUrls", []) == []
    sources = [make(RedrivePolicy=redrive(dead.arn, 1)) for _ in range(3)]
    make(RedrivePolicy=redrive(other.arn, 1))
    answer = _sources(dead)
    assert sorted(answer["queueUrls"]) == sorted(source.url for source in sources)
    assert "NextToken" not in answer
    sources[0].set(RedrivePolicy="")
    sources[1].sqs.delete_queue(QueueUrl=sources[1].url)
    assert _sources(dead)["queueUrls"] == [sources[2].url]


def test_sources_come_in_pages(make: QueueMaker) -> None:
    dead = make()
    urls = {make(RedrivePolicy=redrive(dead.arn, 1)).url for _ in range(5)}
    first = _sources(dead, MaxResults=2)
    second = _sources(dead, MaxResults=2, NextToken=first["NextToken"])
    third = _sources(dead, MaxResults=2, NextToken=second["NextToken"])
    pages = [page["queueUrls"] for page in (first, second, third)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {url for page in pages for url in page} == urls
    assert "NextToken" not in third
    for number in (0, 1001):
        with refused("InvalidParameterValue"):
            _sources(dead, MaxResults=number)
    with refused("InvalidParameterValue"):
        _sources(dead, MaxResults=2, NextToken="nonsense")
