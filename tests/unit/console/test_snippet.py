"""Programs to copy: they name the queue at the service, and are programs."""

import ast

import pytest

from rockdove.console.snippet import Snippet, Target, snippets

STANDARD = Target("http://queues.lan:9324", "http://queues.lan:9324/000000000000/jobs", "jobs", None, signed=False)
FIFO = Target("http://queues.lan:9324", "http://queues.lan:9324/1/jobs.fifo", "jobs.fifo", "eu-west-1", signed=True)


def by_id(target: Target) -> dict[str, Snippet]:
    return {snippet.id: snippet for snippet in snippets(target)}


@pytest.mark.parametrize("target", [STANDARD, FIFO], ids=["standard", "fifo"])
def test_all_name_the_service_and_the_queue(target: Target) -> None:
    for snippet in snippets(target):
        assert target.endpoint in snippet.text, snippet.id
        assert target.name in snippet.text, snippet.id
        assert "9325" not in snippet.text


@pytest.mark.parametrize("target", [STANDARD, FIFO], ids=["standard", "fifo"])
@pytest.mark.parametrize("id", ["boto3", "python", "spark"])
def test_those_in_python_can_be_read_as_python(target: Target, id: str) -> None:
    ast.parse(by_id(target)[id].text)


def test_with_accounts_no_credentials_are_made_up() -> None:
    assert "any" in by_id(STANDARD)["boto3"].text
    for snippet in snippets(FIFO):
        assert "=any" not in snippet.text
        assert '"any"' not in snippet.text
        assert "AWS_SECRET_ACCESS_KEY" in snippet.note


def test_fifo_queues_get_a_group_and_the_region_is_the_service_s() -> None:
    found = by_id(FIFO)
    assert 'MessageGroupId="a"' in found["boto3"].text
    assert "--message-group-id a" in found["aws"].text
    assert "--group a" in found["rockdove"].text
    assert "eu-west-1" in found["boto3"].text
    assert "MessageGroupId" not in by_id(STANDARD)["boto3"].text
