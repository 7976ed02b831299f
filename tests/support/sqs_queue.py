"""A queue as a test sees it: a client and a URL, and short words for what is done all the time."""

import json
from dataclasses import dataclass
from typing import Any

from tests.support.receiving import counts


@dataclass(frozen=True)
class SqsQueue:
    """The operations on one queue, through a boto3 client of either protocol."""

    sqs: Any
    url: str

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def arn(self) -> str:
        return self.attributes("QueueArn")["QueueArn"]

    def send(self, body: str = "a message", **options: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **options)
        return answer

    def send_all(self, *bodies: str, **options: Any) -> None:
        """As many batches as it takes, in order."""
        for start in range(0, len(bodies), 10):
            entries = [
                {"Id": str(at), "MessageBody": body, **options} for at, body in enumerate(bodies[start : start + 10])
            ]
            answer = self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries)
            assert not answer.get("Failed"), answer

    def post(self, group: str, *bodies: str) -> None:
        """Send to a FIFO queue with content-based deduplication."""
        self.send_all(*bodies, MessageGroupId=group)

    def receive(self, most: int = 10, **options: Any) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=most, **options)
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def receive_one(self, **options: Any) -> dict[str, Any]:
        [message] = self.receive(1, **options)
        return message

    def bodies(self, most: int = 10, **options: Any) -> list[str]:
        """Receive, for what the messages say."""
        return [message["Body"] for message in self.receive(most, **options)]

    def delete(self, message: dict[str, Any]) -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def hide(self, message: dict[str, Any], seconds: int) -> None:
        """Change a message's visibility."""
        self.sqs.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    def attributes(self, *names: str) -> dict[str, str]:
        answer: dict[str, str] = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(names)).get(
            "Attributes", {}
        )
        return answer

    def set(self, **attributes: str) -> None:
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=attributes)

    def counts(self) -> tuple[int, int, int]:
        """Messages that are visible, in flight and delayed."""
        return counts(self.sqs, self.url)

    def redrive_to(self, target: "SqsQueue", after: int) -> None:
        """Use a dead-letter queue."""
        self.set(RedrivePolicy=redrive(target.arn, after))


def redrive(target_arn: str, after: int | str) -> str:
    """A RedrivePolicy."""
    return json.dumps({"deadLetterTargetArn": target_arn, "maxReceiveCount": after})
