"""The operations on queues, as steps. A queue is given by its name or its URL."""

from collections.abc import Iterable, Mapping

from rockdove.client.step import Names, Steps, ask, tell
from rockdove.core.limits import MAX_LISTED_QUEUES
from rockdove.wire import extension, shape


def create_queue(
    names: Names, name: str, *, attributes: Mapping[str, str] | None = None, tags: Mapping[str, str] | None = None
) -> Steps[str]:
    """Create a queue, or find the one that is there with the same attributes; gives its URL."""
    request = shape.CreateQueue(
        queue_name=name,
        attributes=dict(attributes) if attributes else None,
        tags=dict(tags) if tags else None,
    )
    answer = yield from ask(request, shape.CreateQueueResult)
    names.learn(name, answer.queue_url)
    return answer.queue_url


def queue_url(names: Names, name: str, *, owner: str | None = None) -> Steps[str]:
    """The URL of a queue of this account, or of another account's."""
    if owner is None:
        return (yield from names.url(name))
    request = shape.GetQueueUrl(queue_name=name, queue_owner_aws_account_id=owner)
    answer = yield from ask(request, shape.GetQueueUrlResult)
    return answer.queue_url


def list_queues(names: Names, prefix: str = "", *, limit: int | None = None) -> Steps[list[str]]:
    """The URLs of all queues whose names begin so, however many, or of the first ``limit`` of them."""
    urls: list[str] = []
    token: str | None = None
    while limit is None or len(urls) < limit:
        most = MAX_LISTED_QUEUES if limit is None else min(limit - len(urls), MAX_LISTED_QUEUES)
        request = shape.ListQueues(queue_name_prefix=prefix or None, next_token=token, max_results=most)
        answer = yield from ask(request, shape.ListQueuesResult)
        urls += answer.queue_urls
        token = answer.next_token
        if token is None:
            break
    return urls


def delete_queue(names: Names, queue: str) -> Steps[None]:
    """Delete a queue with all its messages."""
    url = yield from names.url(queue)
    yield from tell(shape.DeleteQueue(queue_url=url))
    names.forget(url)


def purge(names: Names, queue: str) -> Steps[None]:
    """Delete all messages of a queue."""
    url = yield from names.url(queue)
    yield from tell(shape.PurgeQueue(queue_url=url))


def attributes(names: Names, queue: str, wanted: Iterable[str] = ("All",)) -> Steps[dict[str, str]]:
    """The queue's attributes of these names."""
    url = yield from names.url(queue)
    request = shape.GetQueueAttributes(queue_url=url, attribute_names=list(wanted))
    answer = yield from ask(request, shape.GetQueueAttributesResult)
    return answer.attributes


def set_attributes(names: Names, queue: str, changes: Mapping[str, str]) -> Steps[None]:
    """Change attributes; an empty value takes a policy away."""
    url = yield from names.url(queue)
    yield from tell(shape.SetQueueAttributes(queue_url=url, attributes=dict(changes)))


def tags(names: Names, queue: str) -> Steps[dict[str, str]]:
    """The queue's tags."""
    url = yield from names.url(queue)
    answer = yield from ask(shape.ListQueueTags(queue_url=url), shape.ListQueueTagsResult)
    return answer.tags


def physical_queues(names: Names, queue: str) -> Steps[list[extension.DescribedPhysicalQueue]]:
    """What carries a queue (Rockdove only)."""
    url = yield from names.url(queue)
    answer = yield from ask(extension.DescribePhysicalQueues(queue_url=url), extension.DescribePhysicalQueuesResult)
    return answer.physical_queues


def set_physical_queue(
    names: Names, queue: str, index: int, *, weight: float | None = None, state: str | None = None
) -> Steps[None]:
    """Change the weight of one that carries a queue, or take it down, or let it drain (Rockdove only)."""
    url = yield from names.url(queue)
    yield from tell(extension.SetPhysicalQueue(queue_url=url, index=index, weight=weight, state=state))


def put_elastic_state(names: Names, queue: str, holder: str, hold_s: float, state: str | None = None) -> Steps[bool]:
    """Scale this queue, alone for so long; without a state, the last one stays. Whether to pause (Rockdove only)."""
    url = yield from names.url(queue)
    request = extension.PutElasticState(queue_url=url, holder=holder, hold_seconds=hold_s, state=state)
    answer = yield from ask(request, extension.PutElasticStateResult)
    return answer.paused


def elastic_state(names: Names, queue: str) -> Steps[extension.GetElasticStateResult]:
    """What the controller of the queue has published (Rockdove only)."""
    url = yield from names.url(queue)
    return (yield from ask(extension.GetElasticState(queue_url=url), extension.GetElasticStateResult))


def set_elastic_control(names: Names, queue: str, paused: bool) -> Steps[None]:
    """Let the controller of the queue pause, or go on (Rockdove only)."""
    url = yield from names.url(queue)
    yield from tell(extension.SetElasticControl(queue_url=url, paused=paused))


def tag_queue(names: Names, queue: str, tags: Mapping[str, str]) -> Steps[None]:
    """Add tags, or give them other values."""
    url = yield from names.url(queue)
    yield from tell(shape.TagQueue(queue_url=url, tags=dict(tags)))


def untag_queue(names: Names, queue: str, keys: Iterable[str]) -> Steps[None]:
    """Remove tags."""
    url = yield from names.url(queue)
    yield from tell(shape.UntagQueue(queue_url=url, tag_keys=list(keys)))


def add_permission(
    names: Names, queue: str, label: str, accounts: Iterable[str], actions: Iterable[str]
) -> Steps[None]:
    """Allow other accounts some actions."""
    url = yield from names.url(queue)
    request = shape.AddPermission(queue_url=url, label=label, aws_account_ids=list(accounts), actions=list(actions))
    yield from tell(request)


def remove_permission(names: Names, queue: str, label: str) -> Steps[None]:
    """Take back what `add_permission` gave under this label."""
    url = yield from names.url(queue)
    yield from tell(shape.RemovePermission(queue_url=url, label=label))


def dead_letter_sources(names: Names, queue: str) -> Steps[list[str]]:
    """The URLs of all queues whose dead letters go to this one."""
    url = yield from names.url(queue)
    urls: list[str] = []
    token: str | None = None
    while True:
        request = shape.ListDeadLetterSourceQueues(queue_url=url, next_token=token, max_results=MAX_LISTED_QUEUES)
        answer = yield from ask(request, shape.ListDeadLetterSourceQueuesResult)
        urls += answer.queue_urls
        token = answer.next_token
        if token is None:
            return urls
