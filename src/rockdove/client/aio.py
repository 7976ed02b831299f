"""The client for asyncio."""

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from rockdove.client import account, figure, lease, message, publish, queue, task, topic
from rockdove.client.channel import Channels
from rockdove.client.credential import AnyCredentials
from rockdove.client.endpoint import parse_endpoint
from rockdove.client.envelope import Envelope, shortened
from rockdove.client.error import Lost, UnexpectedAnswer, unreachable
from rockdove.client.retry import NEVER, Retry
from rockdove.client.step import Names, Steps
from rockdove.core.errors import Fault
from rockdove.wire.shape import Request, Result

P = ParamSpec("P")
T = TypeVar("T")


def _awaiting(
    steps: Callable[Concatenate[Names, P], Steps[T]],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    @wraps(steps)
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(steps(self.names, *args, **kwargs))

    return method


class AsyncClient:
    """`rockdove.client.Client` for asyncio: the same methods, to be awaited, within one event loop.

    Every call that is under way at the same time has a connection of its own. A call that is cancelled closes its
    connection: a long poll then ends at the service, too, and takes no message along.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        region: str | None = None,
        credentials: AnyCredentials | None = None,
        retry: Retry | None = Retry(),  # noqa: B008
        connect_timeout_s: float = 5.0,
        timeout_s: float = 30.0,
        tls: ssl.SSLContext | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        place = parse_endpoint(endpoint)
        self.endpoint = place.url
        self.names = Names()
        self._envelope = Envelope(place, region, credentials, timeout_s)
        self._retry = retry or NEVER
        self._rng = random.Random()
        self._sleep = sleep
        self._channels = Channels(place, connect_timeout_s, tls)

    async def call(self, request: Request) -> Result | None:
        """Any operation, by its request (`rockdove.wire.shape`); None for those without result."""
        time = asyncio.get_running_loop().time
        start = time()
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._try(shortened(request, time() - start))
            except (Lost, Fault, UnexpectedAnswer) as error:
                pause_s = self._retry.pause_s(request, attempt, error, self._rng)
                if pause_s is None or self._channels.closed:
                    if isinstance(error, Lost):
                        raise unreachable(self.endpoint, error) from error
                    raise
            await self._sleep(pause_s)

    async def _try(self, request: Request) -> Result | None:
        headers, body = self._envelope.write(request)
        reply = await self._channels.post(headers, body, self._envelope.timeout_s(request))
        return self._envelope.read(request, reply)

    async def run(self, steps: Steps[T]) -> T:
        """Carry out an operation that takes several requests."""
        try:
            request = next(steps)
            while True:
                try:
                    result = await self.call(request)
                except Fault as fault:
                    request = steps.throw(fault)
                else:
                    request = steps.send(result)
        except StopIteration as end:
            value: T = end.value
            return value

    async def close(self) -> None:
        """Close all connections; calls under way fail, and so does every later one."""
        await self._channels.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    create_queue = _awaiting(queue.create_queue)
    queue_url = _awaiting(queue.queue_url)
    list_queues = _awaiting(queue.list_queues)
    delete_queue = _awaiting(queue.delete_queue)
    purge = _awaiting(queue.purge)
    attributes = _awaiting(queue.attributes)
    set_attributes = _awaiting(queue.set_attributes)
    physical_queues = _awaiting(queue.physical_queues)
    set_physical_queue = _awaiting(queue.set_physical_queue)
    put_elastic_state = _awaiting(queue.put_elastic_state)
    elastic_state = _awaiting(queue.elastic_state)
    set_elastic_control = _awaiting(queue.set_elastic_control)
    tags = _awaiting(queue.tags)
    tag_queue = _awaiting(queue.tag_queue)
    untag_queue = _awaiting(queue.untag_queue)
    add_permission = _awaiting(queue.add_permission)
    remove_permission = _awaiting(queue.remove_permission)
    dead_letter_sources = _awaiting(queue.dead_letter_sources)

    send = _awaiting(message.send)
    send_batch = _awaiting(message.send_batch)
    receive = _awaiting(message.receive)
    peek = _awaiting(message.peek)
    peek_page = _awaiting(message.peek_page)
    delete = _awaiting(message.delete)
    delete_batch = _awaiting(message.delete_batch)
    change_visibility = _awaiting(message.change_visibility)
    change_visibility_batch = _awaiting(message.change_visibility_batch)

    lease_batch = _awaiting(lease.lease_batch)
    ack_through = _awaiting(lease.ack_through)
    release_consumer = _awaiting(lease.release_consumer)
    list_leases = _awaiting(lease.list_leases)
    publish_once = _awaiting(publish.publish_once)
    stage_batch = _awaiting(publish.stage_batch)
    publish_batch = _awaiting(publish.publish_batch)
    abort_batch = _awaiting(publish.abort_batch)

    start_move = _awaiting(task.start_move)
    move_tasks = _awaiting(task.move_tasks)
    cancel_move = _awaiting(task.cancel_move)

    figures = _awaiting(figure.figures)
    service_figures = _awaiting(figure.service_figures)

    sign_in = _awaiting(account.sign_in)
    renew_session = _awaiting(account.renew_session)
    add_account = _awaiting(account.add_account)
    list_accounts = _awaiting(account.list_accounts)
    set_account_password = _awaiting(account.set_account_password)
    rotate_account_key = _awaiting(account.rotate_account_key)
    finish_account_rotation = _awaiting(account.finish_account_rotation)
    add_account_token = _awaiting(account.add_account_token)
    remove_account_token = _awaiting(account.remove_account_token)
    set_account_state = _awaiting(account.set_account_state)
    remove_account = _awaiting(account.remove_account)

    create_topic = _awaiting(topic.create_topic)
    list_topics = _awaiting(topic.list_topics)
    topic_arn = _awaiting(topic.topic_arn)
    delete_topic = _awaiting(topic.delete_topic)
    topic_attributes = _awaiting(topic.topic_attributes)
    set_topic_attribute = _awaiting(topic.set_topic_attribute)
    topic_tags = _awaiting(topic.topic_tags)
    tag_topic = _awaiting(topic.tag_topic)
    untag_topic = _awaiting(topic.untag_topic)
    add_topic_permission = _awaiting(topic.add_topic_permission)
    remove_topic_permission = _awaiting(topic.remove_topic_permission)
    subscribe = _awaiting(topic.subscribe)
    unsubscribe = _awaiting(topic.unsubscribe)
    list_subscriptions = _awaiting(topic.list_subscriptions)
    topic_subscriptions = _awaiting(topic.topic_subscriptions)
    subscription_attributes = _awaiting(topic.subscription_attributes)
    set_subscription_attribute = _awaiting(topic.set_subscription_attribute)
    publish_to_topic = _awaiting(topic.publish_to_topic)
    # Last: from here on the name is the method's.
    publish = _awaiting(topic.publish)
