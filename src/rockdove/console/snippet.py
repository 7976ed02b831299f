"""Programs to copy, which use one queue: with its URL at the service, not at the console."""

import shlex
from typing import Final

from msgspec import Struct

_REGION: Final = "us-east-1"


class Snippet(Struct, frozen=True):
    """``id``: a word for addresses. ``note``: what it takes to run it."""

    id: str
    title: str
    note: str
    text: str


class Target(Struct, frozen=True):
    """A queue. ``signed``: whether the service has accounts, and wants credentials."""

    endpoint: str
    url: str
    name: str
    region: str | None
    signed: bool

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")


def snippets(target: Target) -> tuple[Snippet, ...]:
    return (_boto3(target), _aws(target), _rockdove(target), _python(target), _spark(target))


def _lines(*lines: str | None) -> str:
    return "\n".join(line for line in lines if line is not None) + "\n"


_KEYS = "Credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, with the account's key."
_NO_KEYS = "The service has no accounts, so any credentials do."


def _note(target: Target, text: str) -> str:
    return f"{text} {_KEYS if target.signed else _NO_KEYS}"


def _boto3(target: Target) -> Snippet:
    any_key = '    aws_access_key_id="any",\n    aws_secret_access_key="any",'
    group = ', MessageGroupId="a", MessageDeduplicationId="1"' if target.fifo else ""
    text = _lines(
        "import boto3",
        "",
        "sqs = boto3.client(",
        '    "sqs",',
        f'    endpoint_url="{target.endpoint}",',
        f'    region_name="{target.region or _REGION}",',
        None if target.signed else any_key,
        ")",
        f'queue = "{target.url}"',
        f'sqs.send_message(QueueUrl=queue, MessageBody="hello"{group})',
        "answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=20)",
        'for message in answer.get("Messages", []):',
        '    print(message["Body"])',
        '    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])',
    )
    return Snippet("boto3", "boto3", _note(target, "pip install boto3."), text)


def _aws(target: Target) -> Snippet:
    endpoint, url = shlex.quote(target.endpoint), shlex.quote(target.url)
    group = " --message-group-id a --message-deduplication-id 1" if target.fifo else ""
    any_key = "export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"
    text = _lines(
        f"export AWS_DEFAULT_REGION={shlex.quote(target.region or _REGION)}",
        None if target.signed else any_key,
        f"QUEUE={url}",
        f"aws --endpoint-url {endpoint} sqs send-message --queue-url $QUEUE --message-body hello{group}",
        f"aws --endpoint-url {endpoint} sqs receive-message --queue-url $QUEUE --wait-time-seconds 20",
        f"aws --endpoint-url {endpoint} sqs delete-message --queue-url $QUEUE --receipt-handle HANDLE",
    )
    return Snippet("aws", "AWS CLI", _note(target, "pip install awscli, or apt install awscli."), text)


def _rockdove(target: Target) -> Snippet:
    name = shlex.quote(target.name)
    group = " --group a --dedup-id 1" if target.fifo else ""
    text = _lines(
        f"export ROCKDOVE_ENDPOINT={shlex.quote(target.endpoint)}",
        f"rockdove send {name} hello{group}",
        f"rockdove receive {name} --peek --max 10     # look, and leave all as it is",
        f"rockdove receive {name} --max 10 --delete   # take, and delete",
        f"rockdove receive {name} --follow            # print and delete what comes",
    )
    return Snippet("rockdove", "rockdove", _note(target, "The command line of Rockdove itself."), text)


def _python(target: Target) -> Snippet:
    group = ', group_id="a", deduplication_id="1"' if target.fifo else ""
    text = _lines(
        "from rockdove.client import Client",
        "",
        f'with Client("{target.endpoint}") as client:',
        f'    client.send("{target.name}", "hello"{group})',
        f'    for message in client.receive("{target.name}", limit=10, wait_s=20):',
        "        print(message.body)",
        f'        client.delete("{target.name}", message.receipt_handle)',
    )
    return Snippet("python", "Python", _note(target, "Rockdove's own client, also for asyncio."), text)


def _spark(target: Target) -> Snippet:
    text = _lines(
        "from pyspark.sql import SparkSession",
        "",
        'spark = SparkSession.builder.master("local[2]").getOrCreate()',
        "messages = (",
        '    spark.readStream.format("rockdove")',
        f'    .option("endpoint", "{target.endpoint}")',
        f'    .option("queue", "{target.name}")',
        "    .load()",
        ")",
        "# Exactly once into a table; messages leave the queue when Spark has them.",
        'writer = messages.writeStream.format("parquet").option("path", "table")',
        'writer.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start().awaitTermination()',
    )
    note = "Java 17 and pip install 'rockdove[spark]'; PYSPARK_PYTHON names the interpreter."
    return Snippet("spark", "Spark", _note(target, note), text)
