"""Traces of a service with accounts: who owns the queue, who was refused, and who was nobody."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rockdove.broker.accounts import NewKey
from tests.support.dialect import client
from tests.support.service import RunningService
from tests.support.trail import rows


def sqs_of(service: RunningService, key: NewKey, secret: str = "") -> Any:
    return client("json", service.endpoint, key.access_key, secret or key.secret)


def test_the_owner_and_the_refusal_are_recorded_and_a_wrong_signature_is_not(tmp_path: Path, environment: None) -> None:
    trace = tmp_path / "trace"
    service = RunningService(tmp_path, "memory", real_time=True, trace=trace)
    try:
        owner, other = service.add_account("owner"), service.add_account("other")
        clients = [sqs_of(service, owner), sqs_of(service, other), sqs_of(service, other, "x" * 40)]
        url = clients[0].create_queue(QueueName="jobs")["QueueUrl"]
        clients[0].send_message(QueueUrl=url, MessageBody="x")
        for refused in clients[1:]:
            with pytest.raises(ClientError):
                refused.send_message(QueueUrl=url, MessageBody="x")
        for each in clients:
            each.close()
    finally:
        service.close()
    found = [(row["op"], row["account"], row["queue"], row["status"]) for row in rows(trace)]
    assert found == [("send", owner.account.id, "jobs", 200), ("send", owner.account.id, "jobs", 403)]
