"""The requests and results of SQS's operations, by its names outward and ours inward.

A field without default is one that SQS requires: msgspec then finds its absence at no cost to the requests that have
it. The results are the other way round: what is empty is not sent, as with SQS, unless it has no default.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from rockdove.core.message import Attribute

# What SQS calls an integer has 32 bits.
Integer = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class Request(Struct, rename="pascal", omit_defaults=True, gc=False):
    """What a client asks for. (msgspec does not inherit ``kw_only``.)"""


class Result(Struct, rename="pascal", omit_defaults=True, gc=False):
    """What it is answered."""


# Queues.


class CreateQueue(Request, kw_only=True):
    queue_name: str
    attributes: dict[str, str] | None = None
    # The one member of a request in lower case.
    tags: dict[str, str] | None = field(default=None, name="tags")


class CreateQueueResult(Result, kw_only=True):
    queue_url: str


class DeleteQueue(Request, kw_only=True):
    queue_url: str


class GetQueueUrl(Request, kw_only=True):
    queue_name: str
    queue_owner_aws_account_id: str | None = field(default=None, name="QueueOwnerAWSAccountId")


class GetQueueUrlResult(Result, kw_only=True):
    queue_url: str


class ListQueues(Request, kw_only=True):
    queue_name_prefix: str | None = None
    next_token: str | None = None
    max_results: Integer | None = None


class ListQueuesResult(Result, kw_only=True):
    queue_urls: list[str] = []
    next_token: str | None = None


class PurgeQueue(Request, kw_only=True):
    queue_url: str


class GetQueueAttributes(Request, kw_only=True):
    queue_url: str
    attribute_names: list[str] | None = None


class GetQueueAttributesResult(Result, kw_only=True):
    attributes: dict[str, str] = {}


class SetQueueAttributes(Request, kw_only=True):
    queue_url: str
    attributes: dict[str, str]


class TagQueue(Request, kw_only=True):
    queue_url: str
    tags: dict[str, str]


class UntagQueue(Request, kw_only=True):
    queue_url: str
    tag_keys: list[str]


class ListQueueTags(Request, kw_only=True):
    queue_url: str


class ListQueueTagsResult(Result, kw_only=True):
    tags: dict[str, str] = {}


class AddPermission(Request, kw_only=True):
    queue_url: str
    label: str
    aws_account_ids: list[str] = field(name="AWSAccountIds")
    actions: list[str]


class RemovePermission(Request, kw_only=True):
    queue_url: str
    label: str


# Messages.


class SendMessage(Request, kw_only=True):
    queue_url: str
    message_body: str
    delay_seconds: Integer | None = None
    message_attributes: dict[str, Attribute] | None = None
    message_system_attributes: dict[str, Attribute] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageResult(Result, kw_only=True):
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    message_id: str
    sequence_number: str | None = None


class ReceiveMessage(Request, kw_only=True):
    queue_url: str
    attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None
    message_attribute_names: list[str] | None = None
    max_number_of_messages: Integer | None = None
    visibility_timeout: Integer | None = None
    wait_time_seconds: Integer | None = None
    receive_request_attempt_id: str | None = None


class Message(Result, kw_only=True):
    """A message as ReceiveMessage gives it."""

    message_id: str
    receipt_handle: str
    md5_of_body: str = field(name="MD5OfBody")
    body: str
    attributes: dict[str, str] = {}
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: dict[str, Attribute] = {}


class ReceiveMessageResult(Result, kw_only=True):
    messages: list[Message] = []


class DeleteMessage(Request, kw_only=True):
    queue_url: str
    receipt_handle: str


class ChangeMessageVisibility(Request, kw_only=True):
    queue_url: str
    receipt_handle: str
    visibility_timeout: Integer


# Batches.


class BatchResultErrorEntry(Result, kw_only=True):
    """Why one entry of a batch failed."""

    id: str
    sender_fault: bool
    code: str
    message: str | None = None


class SendMessageBatchRequestEntry(Request, kw_only=True):
    id: str
    message_body: str
    delay_seconds: Integer | None = None
    message_attributes: dict[str, Attribute] | None = None
    message_system_attributes: dict[str, Attribute] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class SendMessageBatch(Request, kw_only=True):
    queue_url: str
    # Absent counts as empty, which has a fault of its own.
    entries: list[SendMessageBatchRequestEntry] = []


class SendMessageBatchResultEntry(Result, kw_only=True):
    id: str
    message_id: str
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    sequence_number: str | None = None


class SendMessageBatchResult(Result, kw_only=True):
    successful: list[SendMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


class DeleteMessageBatchRequestEntry(Request, kw_only=True):
    id: str
    receipt_handle: str


class DeleteMessageBatch(Request, kw_only=True):
    queue_url: str
    # Absent counts as empty, which has a fault of its own.
    entries: list[DeleteMessageBatchRequestEntry] = []


class DeleteMessageBatchResultEntry(Result, kw_only=True):
    id: str


class DeleteMessageBatchResult(Result, kw_only=True):
    successful: list[DeleteMessageBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


class ChangeMessageVisibilityBatchRequestEntry(Request, kw_only=True):
    id: str
    receipt_handle: str
    visibility_timeout: Integer | None = None


class ChangeMessageVisibilityBatch(Request, kw_only=True):
    queue_url: str
    # Absent counts as empty, which has a fault of its own.
    entries: list[ChangeMessageVisibilityBatchRequestEntry] = []


class ChangeMessageVisibilityBatchResultEntry(Result, kw_only=True):
    id: str


class ChangeMessageVisibilityBatchResult(Result, kw_only=True):
    successful: list[ChangeMessageVisibilityBatchResultEntry] = []
    failed: list[BatchResultErrorEntry] = []


# Dead letters and move tasks.


class ListDeadLetterSourceQueues(Request, kw_only=True):
    queue_url: str
    next_token: str | None = None
    max_results: Integer | None = None


class ListDeadLetterSourceQueuesResult(Result, kw_only=True):
    # The one member of a result in lower case.
    queue_urls: list[str] = field(name="queueUrls")
    next_token: str | None = None


class StartMessageMoveTask(Request, kw_only=True):
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: Integer | None = None


class StartMessageMoveTaskResult(Result, kw_only=True):
    task_handle: str


class CancelMessageMoveTask(Request, kw_only=True):
    task_handle: str


class CancelMessageMoveTaskResult(Result, kw_only=True):
    approximate_number_of_messages_moved: int


class ListMessageMoveTasks(Request, kw_only=True):
    source_arn: str
    max_results: Integer | None = None


class ListMessageMoveTasksResultEntry(Result, kw_only=True):
    # Only a running task has one.
    task_handle: str | None = None
    status: str
    source_arn: str
    destination_arn: str | None = None
    max_number_of_messages_per_second: int | None = None
    approximate_number_of_messages_moved: int
    approximate_number_of_messages_to_move: int | None = None
    failure_reason: str | None = None
    # Milliseconds since the epoch.
    started_timestamp: int


class ListMessageMoveTasksResult(Result, kw_only=True):
    results: list[ListMessageMoveTasksResultEntry] = []
