"""The blocking client."""

import random
import ssl
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from rockdove.client import account, figure, lease, message, publish, queue, task, topic
from rockdove.client.credential import AnyCredentials
from rockdove.client.endpoint import parse_endpoint
from rockdove.client.envelope import Envelope, shortened
from rockdove.client.error import Lost, UnexpectedAnswer, unreachable
from rockdove.client.pool import Pool
from rockdove.client.retry import NEVER, Retry
from rockdove.client.step import Names, Steps, drive
from rockdove.core.errors import Fault
from rockdove.wire.shape import Request, Result

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(steps: Callable[Concatenate[Names, P], Steps[T]]) -> Callable[Concatenate["Client", P], T]:
    @wraps(steps)
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(steps(self.names, *args, **kwargs))

    return method


class Client:
    """Calls a service and waits for its answers; threads may share it.

    Without an endpoint: the environment's ``ROCKDOVE_ENDPOINT``, or this machine's. Requests are signed if there are
    credentials, here or in the environment's ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, or have the token of
    its ``ROCKDOVE_TOKEN``. The methods raise
    the service's faults (`rockdove.core.errors`) and `Unreachable`. ``retry=None`` asks once only.
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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        place = parse_endpoint(endpoint)
        self.endpoint = place.url
        self.names = Names()
        self._envelope = Envelope(place, region, credentials, timeout_s)
        self._retry = retry or NEVER
        self._rng = random.Random()
        self._sleep = sleep
        self._pool = Pool(place, connect_timeout_s, tls)

    def call(self, request: Request) -> Result | None:
        """Any operation, by its request (`rockdove.wire.shape`); None for those without result."""
        start = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._try(shortened(request, time.monotonic() - start))
            except (Lost, Fault, UnexpectedAnswer) as error:
                pause_s = self._retry.pause_s(request, attempt, error, self._rng)
                if pause_s is None:
                    if isinstance(error, Lost):
                        raise unreachable(self.endpoint, error) from error
                    raise
            self._sleep(pause_s)

    def _try(self, request: Request) -> Result | None:
        headers, body = self._envelope.write(request)
        reply = self._pool.post(headers, body, self._envelope.timeout_s(request))
        return self._envelope.read(request, reply)

    def run(self, steps: Steps[T]) -> T:
        """Carry out an operation that takes several requests."""
        return drive(steps, self.call)

    def close(self) -> None:
        """Close the connections that are idle, and those in use as soon as they are not."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    create_queue = _blocking(queue.create_queue)
    queue_url = _blocking(queue.queue_url)
    list_queues = _blocking(queue.list_queues)
    delete_queue = _blocking(queue.delete_queue)
    purge = _blocking(queue.purge)
    attributes = _blocking(queue.attributes)
    set_attributes = _blocking(queue.set_attributes)
    physical_queues = _blocking(queue.physical_queues)
    set_physical_queue = _blocking(queue.set_physical_queue)
    put_elastic_state = _blocking(queue.put_elastic_state)
    elastic_state = _blocking(queue.elastic_state)
    set_elastic_control = _blocking(queue.set_elastic_control)
    tags = _blocking(queue.tags)
    tag_queue = _blocking(queue.tag_queue)
    untag_queue = _blocking(queue.untag_queue)
    add_permission = _blocking(queue.add_permission)
    remove_permission = _blocking(queue.remove_permission)
    dead_letter_sources = _blocking(queue.dead_letter_sources)

    send = _blocking(message.send)
    send_batch = _blocking(message.send_batch)
    receive = _blocking(message.receive)
    peek = _blocking(message.peek)
    peek_page = _blocking(message.peek_page)
    delete = _blocking(message.delete)
    delete_batch = _blocking(message.delete_batch)
    change_visibility = _blocking(message.change_visibility)
    change_visibility_batch = _blocking(message.change_visibility_batch)

    lease_batch = _blocking(lease.lease_batch)
    ack_through = _blocking(lease.ack_through)
    release_consumer = _blocking(lease.release_consumer)
    list_leases = _blocking(lease.list_leases)
    publish_once = _blocking(publish.publish_once)
    stage_batch = _blocking(publish.stage_batch)
    publish_batch = _blocking(publish.publish_batch)
    abort_batch = _blocking(publish.abort_batch)

    start_move = _blocking(task.start_move)
    move_tasks = _blocking(task.move_tasks)
    cancel_move = _blocking(task.cancel_move)

    figures = _blocking(figure.figures)
    service_figures = _blocking(figure.service_figures)

    sign_in = _blocking(account.sign_in)
    renew_session = _blocking(account.renew_session)
    add_account = _blocking(account.add_account)
    list_accounts = _blocking(account.list_accounts)
    set_account_password = _blocking(account.set_account_password)
    rotate_account_key = _blocking(account.rotate_account_key)
    finish_account_rotation = _blocking(account.finish_account_rotation)
    add_account_token = _blocking(account.add_account_token)
    remove_account_token = _blocking(account.remove_account_token)
    set_account_state = _blocking(account.set_account_state)
    remove_account = _blocking(account.remove_account)

    create_topic = _blocking(topic.create_topic)
    list_topics = _blocking(topic.list_topics)
    topic_arn = _blocking(topic.topic_arn)
    delete_topic = _blocking(topic.delete_topic)
    topic_attributes = _blocking(topic.topic_attributes)
    set_topic_attribute = _blocking(topic.set_topic_attribute)
    topic_tags = _blocking(topic.topic_tags)
    tag_topic = _blocking(topic.tag_topic)
    untag_topic = _blocking(topic.untag_topic)
    add_topic_permission = _blocking(topic.add_topic_permission)
    remove_topic_permission = _blocking(topic.remove_topic_permission)
    subscribe = _blocking(topic.subscribe)
    unsubscribe = _blocking(topic.unsubscribe)
    list_subscriptions = _blocking(topic.list_subscriptions)
    topic_subscriptions = _blocking(topic.topic_subscriptions)
    subscription_attributes = _blocking(topic.subscription_attributes)
    set_subscription_attribute = _blocking(topic.set_subscription_attribute)
    publish_to_topic = _blocking(topic.publish_to_topic)
    # Last: from here on the name is the method's.
    publish = _blocking(topic.publish)
