"""The operations by name: what each takes and gives."""

from msgspec import Struct
from msgspec.structs import fields

from rockdove.wire import account, extension, figure, lease, publish, shape, topic

# Requests without messages: taken apart, some take twenty times their bytes of memory.
MAX_SMALL_BYTES = 262_144
_LARGE = frozenset(
    (
        "SendMessage",
        "SendMessageBatch",
        "PublishOnce",
        "StageBatch",
        "PublishBatch",
        "Publish",
        "PublishToTopicBatch",
    )
)

# Whose operation it is: the beginning of X-Amz-Target. Those of topics SNS has in Query alone.
SQS, SNS, ROCKDOVE = "AmazonSQS", "AmazonSNS", "Rockdove"


class Operation(Struct, frozen=True):
    """``required`` has the names, as SQS spells them, of the members that a request must have.

    ``action`` is what the service calls it that has it; ``name`` is one that no other operation has.
    """

    name: str
    request: type[shape.Request]
    result: type[shape.Result] | None
    required: tuple[str, ...]
    service: str
    action: str

    @property
    def extension(self) -> bool:
        """Whether it is ours: then it does not exist in Query."""
        return self.service == ROCKDOVE

    @property
    def is_of_topics(self) -> bool:
        return self.service == SNS

    @property
    def target(self) -> str:
        """The value of ``X-Amz-Target``."""
        return f"{self.service}.{self.action}"

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.name.startswith(("Get", "List", "Peek", "Describe"))

    @property
    def max_bytes(self) -> int | None:
        """What a request may have at most, if it brings no messages; others have the limit of all requests."""
        return None if self.name in _LARGE else MAX_SMALL_BYTES

    @property
    def method(self) -> str:
        """The name of what carries it out: the operation's, in snake case."""
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.name)[1:]


def _operation(
    request: type[shape.Request],
    result: type[shape.Result] | None = None,
    extension: bool = False,
    action: str | None = None,
) -> Operation:
    required = tuple(field.encode_name for field in fields(request) if field.required)
    name = request.__name__
    service = ROCKDOVE if extension else SNS if issubclass(request, topic.TopicRequest) else SQS
    return Operation(name, request, result, required, service, action or name)


OPERATIONS: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        _operation(shape.AddPermission),
        _operation(shape.CancelMessageMoveTask, shape.CancelMessageMoveTaskResult),
        _operation(shape.ChangeMessageVisibility),
        _operation(shape.ChangeMessageVisibilityBatch, shape.ChangeMessageVisibilityBatchResult),
        _operation(shape.CreateQueue, shape.CreateQueueResult),
        _operation(shape.DeleteMessage),
        _operation(shape.DeleteMessageBatch, shape.DeleteMessageBatchResult),
        _operation(shape.DeleteQueue),
        _operation(shape.GetQueueAttributes, shape.GetQueueAttributesResult),
        _operation(shape.GetQueueUrl, shape.GetQueueUrlResult),
        _operation(shape.ListDeadLetterSourceQueues, shape.ListDeadLetterSourceQueuesResult),
        _operation(shape.ListMessageMoveTasks, shape.ListMessageMoveTasksResult),
        _operation(shape.ListQueueTags, shape.ListQueueTagsResult),
        _operation(shape.ListQueues, shape.ListQueuesResult),
        _operation(shape.PurgeQueue),
        _operation(shape.ReceiveMessage, shape.ReceiveMessageResult),
        _operation(shape.RemovePermission),
        _operation(shape.SendMessage, shape.SendMessageResult),
        _operation(shape.SendMessageBatch, shape.SendMessageBatchResult),
        _operation(shape.SetQueueAttributes),
        _operation(shape.StartMessageMoveTask, shape.StartMessageMoveTaskResult),
        _operation(shape.TagQueue),
        _operation(shape.UntagQueue),
        _operation(extension.Peek, extension.PeekResult, extension=True),
        _operation(extension.Receive, extension.ReceiveResult, extension=True),
        _operation(extension.DescribePhysicalQueues, extension.DescribePhysicalQueuesResult, extension=True),
        _operation(extension.SetPhysicalQueue, extension=True),
        _operation(extension.PutElasticState, extension.PutElasticStateResult, extension=True),
        _operation(extension.GetElasticState, extension.GetElasticStateResult, extension=True),
        _operation(extension.SetElasticControl, extension=True),
        _operation(lease.LeaseBatch, lease.LeaseBatchResult, extension=True),
        _operation(lease.AckThrough, lease.AckThroughResult, extension=True),
        _operation(lease.ReleaseConsumer, lease.ReleaseConsumerResult, extension=True),
        _operation(lease.ListLeases, lease.ListLeasesResult, extension=True),
        _operation(publish.PublishOnce, publish.PublishOnceResult, extension=True),
        _operation(publish.StageBatch, publish.StageBatchResult, extension=True),
        _operation(publish.PublishBatch, publish.PublishBatchResult, extension=True),
        _operation(publish.AbortBatch, extension=True),
        _operation(figure.GetFigures, figure.GetFiguresResult, extension=True),
        _operation(figure.GetServiceFigures, figure.GetServiceFiguresResult, extension=True),
        _operation(account.SignIn, account.SignInResult, extension=True),
        _operation(account.RenewSession, account.SignInResult, extension=True),
        _operation(account.AddAccount, account.AddAccountResult, extension=True),
        _operation(account.ListAccounts, account.ListAccountsResult, extension=True),
        _operation(account.SetAccountPassword, extension=True),
        _operation(account.RotateAccountKey, account.RotateAccountKeyResult, extension=True),
        _operation(account.FinishAccountRotation, account.FinishAccountRotationResult, extension=True),
        _operation(account.AddAccountToken, account.AddAccountTokenResult, extension=True),
        _operation(account.RemoveAccountToken, extension=True),
        _operation(account.SetAccountState, extension=True),
        _operation(account.RemoveAccount, extension=True),
        _operation(topic.CreateTopic, topic.CreateTopicResult),
        _operation(topic.DeleteTopic),
        _operation(topic.ListTopics, topic.ListTopicsResult),
        _operation(topic.GetTopicAttributes, topic.GetTopicAttributesResult),
        _operation(topic.SetTopicAttributes),
        _operation(topic.Subscribe, topic.SubscribeResult),
        _operation(topic.Unsubscribe),
        _operation(topic.ListSubscriptions, topic.ListSubscriptionsResult),
        _operation(topic.ListSubscriptionsByTopic, topic.ListSubscriptionsByTopicResult),
        _operation(topic.GetSubscriptionAttributes, topic.GetSubscriptionAttributesResult),
        _operation(topic.SetSubscriptionAttributes),
        _operation(topic.Publish, topic.PublishResult),
        _operation(topic.PublishToTopicBatch, topic.PublishToTopicBatchResult, action="PublishBatch"),
        _operation(topic.TagResource, topic.TagResourceResult),
        _operation(topic.UntagResource, topic.UntagResourceResult),
        _operation(topic.ListTagsForResource, topic.ListTagsForResourceResult),
        _operation(topic.AddTopicPermission, action="AddPermission"),
        _operation(topic.RemoveTopicPermission, action="RemovePermission"),
    )
}
# Those of Query, by the version of the API that it names.
ACTIONS: dict[str, dict[str, Operation]] = {
    "2012-11-05": {each.action: each for each in OPERATIONS.values() if each.service == SQS},
    "2010-03-31": {each.action: each for each in OPERATIONS.values() if each.service == SNS},
}
