"""The gate: whose request it is, by its signature, and whether he may do that, by the queue's policy."""

import base64
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from rockdove.broker.accounts import Accounts
from rockdove.broker.directory import Directory
from rockdove.broker.movetask import MoveTasks
from rockdove.broker.queue import Queue
from rockdove.broker.topic import Topic, Topics
from rockdove.core.account import Account
from rockdove.core.arn import parse_arn, parse_subscription_arn, parse_topic_arn
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.condition import Context
from rockdove.core.errors import (
    AccessDenied,
    Fault,
    IncompleteSignature,
    InvalidClientTokenId,
    QueueDoesNotExist,
    RequestThrottled,
    SignatureDoesNotMatch,
)
from rockdove.core.permission import TOPIC_SERVICE, TOPICS, Caller, is_permitted
from rockdove.core.topic import redrive_target
from rockdove.server.address import client_address, forwarded_hosts, lower, origin_form
from rockdove.server.failures import MOST_FAILURES, WINDOW_S, Failures
from rockdove.server.seldom import Seldom
from rockdove.server.topics import target_of
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import Request
from rockdove.wire.verify import Verifier

_ID_DIGITS = 12
# Operations that go by the permission of another; any other has one of its own name.
_PERMISSIONS = {
    "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
    "DeleteMessageBatch": "DeleteMessage",
    "SendMessageBatch": "SendMessage",
    "Peek": "ReceiveMessage",
    "Receive": "ReceiveMessage",
    "LeaseBatch": "ReceiveMessage",
    "AckThrough": "DeleteMessage",
    "ReleaseConsumer": "ChangeMessageVisibility",
    "ListLeases": "GetQueueAttributes",
    "DescribePhysicalQueues": "GetQueueAttributes",
    "SetPhysicalQueue": "SetQueueAttributes",
    "PutElasticState": "SetQueueAttributes",
    "GetElasticState": "GetQueueAttributes",
    "SetElasticControl": "SetQueueAttributes",
    "PublishOnce": "SendMessage",
    "StageBatch": "SendMessage",
    "PublishBatch": "SendMessage",
    "AbortBatch": "SendMessage",
    "PublishToTopicBatch": "Publish",
    "AddTopicPermission": "AddPermission",
    "RemoveTopicPermission": "RemovePermission",
}
# These go by a consumer's name, which is no secret, instead of handles that only a receive gives: so they need the
# permission to receive, too.
_BY_CONSUMER = frozenset(("AckThrough", "ReleaseConsumer"))
# In a presigned URL.
_SIGNATURE = b"X-Amz-Signature="
# What a move task does to its source, as AWS documents it.
_OF_A_MOVE = ("StartMessageMoveTask", "ReceiveMessage", "DeleteMessage", "GetQueueAttributes")


class Guest(Protocol):
    """A request at the gate."""

    account: str

    @property
    def headers(self) -> dict[bytes, bytes]:
        """With their names in lower case."""

    @property
    def peer(self) -> str: ...

    @property
    def secure(self) -> bool:
        """Whether it came over TLS."""

    @property
    def asked(self) -> tuple[bytes, bytes, bytes]:
        """The method, the target and the body."""


class Gate:
    """Asked for every request as soon as there are accounts."""

    def __init__(
        self,
        accounts: Accounts,
        directory: Directory,
        topics: Topics,
        tasks: MoveTasks,
        clock: Clock,
        trust_proxy: bool = False,
        asks_again: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._directory = directory
        self._by_url = directory.at_url
        self._topics = topics
        self._tasks = tasks
        self._clock = clock
        self._trust_proxy = trust_proxy
        # Whether this is a front-end, which may not have heard of a key yet.
        self._asks_again = asks_again
        self._verify = Verifier(accounts.by_key, clock).verify
        self.failures = Failures(monotonic)
        self._seldom = Seldom(monotonic)
        self._rules = {name: (_PERMISSIONS.get(name, name), self._rule(each)) for name, each in OPERATIONS.items()}

    # Signatures.

    def identify(
        self, guest: Guest, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, final: bool
    ) -> str:
        """The id of the account that has signed the request. Raises the fault of one that is not well signed.

        Unless it is ``final``, a front-end asks once more for a key that it does not know: that counts then.
        Every signature is looked at, also from an address with many bad ones: a good one is never refused.
        """
        hosts = forwarded_hosts(lower(headers)) if self._trust_proxy else ()
        target = url if url[:1] == b"/" else origin_form(url)
        try:
            try:
                return self._verify(method, target, headers, body, hosts).id
            except IncompleteSignature:
                account = self._bearer(lower(headers).get(b"authorization", b""))
                if account is None:
                    raise
                return account
        except (InvalidClientTokenId, SignatureDoesNotMatch) as fault:
            if fault.missed and self._asks_again and not final:
                raise
            address = self._address(guest)
            if self.failures.add(address):
                raise
            self._seldom.warn("throttled", "a client is throttled: too many bad signatures", address=address)
        raise RequestThrottled(
            f"More than {MOST_FAILURES} requests with a bad signature came from this address within {WINDOW_S:.0f} "
            "seconds. Check the access key, the secret key and the clock, and try again in a minute."
        )

    def _bearer(self, authorization: bytes) -> str | None:
        """The id of the account whose token it is, or whose name and secret key; None: neither of these is there."""
        scheme, _, given = authorization.partition(b" ")
        if scheme.lower() == b"bearer":
            account = self._accounts.by_token(given.strip().decode("latin-1"))
        elif scheme.lower() == b"basic":
            name, _, secret = _decoded(given).partition(":")
            account = self._accounts.by_secret(name, secret)
        else:
            return None
        if account is None:
            raise InvalidClientTokenId("The token, or the name and the secret key, are nobody's here.")
        return account.id

    def signer(self, guest: Guest) -> Account | None:
        """Who has signed a request for a page; None: nobody, or not well."""
        method, url, body = guest.asked
        if not self._accounts.exist or (b"authorization" not in guest.headers and _SIGNATURE not in url):
            return None
        try:
            return self._accounts.by_id(self.identify(guest, method, url, guest.headers, body, final=True))
        except Fault:
            return None

    def _address(self, guest: Guest) -> str:
        return client_address(guest.headers, guest.peer, self._trust_proxy)

    # Permissions.

    def permit(self, guest: Guest, operation: Operation, request: Request) -> None:
        """Raises the fault of a request that its caller may not make."""
        action, rule = self._rules[operation.name]
        if rule is not None:
            rule(guest, action, request)

    def _rule(self, operation: Operation) -> Callable[[Guest, str, Any], None] | None:
        """By what names a queue: so a new operation on a queue cannot be forgotten here."""
        members = operation.request.__struct_fields__
        if operation.name in _BY_CONSUMER:
            return self._check_consumer
        if operation.is_of_topics:
            return self._topic_rule(members)
        if "queue_url" in members:
            return self._check_url
        if "source_arn" in members:
            return self._check_arns
        if "task_handle" in members:
            return self._check_task
        return self._check_name if "queue_owner_aws_account_id" in members else None

    def _topic_rule(self, members: tuple[str, ...]) -> Callable[[Guest, str, Any], None] | None:
        if "subscription_arn" in members:
            return self._check_subscription
        if "endpoint" in members:
            return self._check_subscribe
        if "target_arn" in members:
            return lambda guest, action, request: self._check_topic(guest, action, target_of(request))
        if "topic_arn" in members:
            return lambda guest, action, request: self._check_topic(guest, action, request.topic_arn)
        if "resource_arn" in members:
            return lambda guest, action, request: self._check_topic(guest, action, request.resource_arn)
        return None

    def _check_url(self, guest: Guest, action: str, request: Any) -> None:
        url: str = request.queue_url
        try:
            queue = self._by_url(url, guest.account)
        except Fault as fault:
            owner = url.rsplit("/", 2)[-2] if "/" in url else guest.account
            if self._is_others(owner, guest):
                raise _denied(url) from None
            raise fault from None
        if queue.policy is None and queue.key[0] == guest.account:
            return
        if not self._is_permitted(guest, action, queue):
            raise self._refusal(guest, queue.key[0], url)

    def _check_consumer(self, guest: Guest, action: str, request: Any) -> None:
        self._check_url(guest, action, request)
        self._check_url(guest, "ReceiveMessage", request)

    def _check_name(self, guest: Guest, action: str, request: Any) -> None:
        """GetQueueUrl: who has no permission learns no more than who asks for a queue that is not there."""
        owner: str = request.queue_owner_aws_account_id or guest.account
        queue = self._directory.find(owner, request.queue_name)
        if queue is not None and self._is_permitted(guest, action, queue):
            return
        if owner != guest.account:
            raise QueueDoesNotExist("The specified queue does not exist or you do not have access to it.")
        if queue is not None:
            raise self._refusal(guest, queue.key[0], queue.arn)

    def _check_arns(self, guest: Guest, action: str, request: Any) -> None:
        """Move tasks, which are the owner's: both queues must be his."""
        for needed in _OF_A_MOVE if action == _OF_A_MOVE[0] else (action,):
            self._check_arn(guest, needed, request.source_arn)
        destination = getattr(request, "destination_arn", None)
        if destination is not None:
            self._check_arn(guest, "SendMessage", destination, own=True)

    def _check_task(self, guest: Guest, action: str, request: Any) -> None:
        source = self._tasks.source_of(request.task_handle)
        if source is not None:
            self._check_arn(guest, action, source)

    def _check_arn(self, guest: Guest, action: str, arn: str, own: bool = False) -> None:
        key = parse_arn(arn)
        if key is None:
            return
        if self._is_others(key[0], guest) and (own or self._directory.get(*key) is None):
            raise _denied(arn)
        queue = self._directory.get(*key)
        if queue is not None and not self._is_permitted(guest, action, queue):
            raise self._refusal(guest, queue.key[0], arn)

    # Topics.

    def _check_topic(self, guest: Guest, action: str, arn: str) -> None:
        key = parse_topic_arn(arn)
        if key is None:
            # Whoever looks for it says what is wrong.
            return
        topic = self._topics.find(*key)
        if topic is None:
            if self._is_others(key[0], guest):
                raise _denied(arn)
            return
        caller = self._caller(guest.account)
        owner = topic.record.account
        context = partial(self._context, guest, caller)
        if not is_permitted(topic.policy, owner, caller, action, topic.arn, context, TOPICS):
            raise self._refusal(guest, owner, arn)

    def _check_subscription(self, guest: Guest, action: str, request: Any) -> None:
        """A subscription is a matter of who has made it, and of the topic's owner."""
        key = parse_subscription_arn(request.subscription_arn)
        if key is None:
            return
        topic = self._topics.find(*key[:2])
        subscription = None if topic is None else topic.subscription(key[2])
        if topic is None or subscription is None:
            if self._is_others(key[0], guest):
                raise _denied(request.subscription_arn)
            return
        if guest.account not in (subscription.owner, topic.record.account):
            raise _denied(request.subscription_arn)
        if getattr(request, "attribute_name", None) == "RedrivePolicy" and request.attribute_value:
            self._check_target(subscription.owner, topic, redrive_target(request.attribute_value))

    def _check_subscribe(self, guest: Guest, action: str, request: Any) -> None:
        """Nobody may have messages sent to a queue to which he, or the topic, may not send any."""
        self._check_topic(guest, action, request.topic_arn)
        key = parse_topic_arn(request.topic_arn)
        topic = None if key is None else self._topics.find(*key)
        if topic is None:
            return
        self._check_target(guest.account, topic, parse_arn(request.endpoint or ""))
        redrive = (request.attributes or {}).get("RedrivePolicy")
        if redrive:
            self._check_target(guest.account, topic, redrive_target(redrive))

    def _check_target(self, owner: str, topic: Topic, target: tuple[str, str] | None) -> None:
        """Who subscribes a queue, or makes it a dead-letter queue. That it is not there, others say."""
        if target is None:
            return
        queue = self._directory.get(*target)
        if (target[0] != owner) if queue is None else not self.may_send(topic, owner, queue):
            raise AccessDenied(
                f"The topic {topic.arn} may not send to the queue {target[1]} of the account {target[0]}: its policy "
                f"must allow SendMessage to the account {owner}, or to {TOPIC_SERVICE} for this topic."
            )

    def may_send(self, topic: Topic, owner: str, queue: Queue) -> bool:
        """Whether a topic may send to a queue, for the account that has subscribed it."""
        if queue.policy is None:
            return queue.key[0] == owner
        account = self._accounts.by_id(owner)
        caller = Caller(owner, "" if account is None else account.name, TOPIC_SERVICE)

        def context() -> Context:
            return {
                **self._times(),
                "aws:securetransport": "true",
                "aws:principalaccount": caller.id,
                "aws:principalarn": caller.arn,
                "aws:sourcearn": topic.arn,
                "aws:sourceaccount": topic.record.account,
            }

        return is_permitted(queue.policy, queue.key[0], caller, "SendMessage", queue.arn, context)

    def _is_others(self, owner: str, guest: Guest) -> bool:
        """Whether that is another account, which need not exist."""
        return owner != guest.account and len(owner) == _ID_DIGITS and owner.isdecimal()

    def _is_permitted(self, guest: Guest, action: str, queue: Queue) -> bool:
        caller = self._caller(guest.account)
        return is_permitted(queue.policy, queue.key[0], caller, action, queue.arn, lambda: self._context(guest, caller))

    def _caller(self, id: str) -> Caller:
        account = self._accounts.by_id(id)
        return Caller(id, account.name if account is not None else "")

    def _times(self) -> Context:
        now_us = self._clock.now_us()
        return {
            "aws:currenttime": datetime.fromtimestamp(now_us / SECOND_US, UTC).isoformat(),
            "aws:epochtime": str(now_us // SECOND_US),
        }

    def _context(self, guest: Guest, caller: Caller) -> Context:
        """What conditions may ask for. Nobody acts for a service of AWS's, so there is no aws:SourceArn."""
        return {
            **self._times(),
            "aws:securetransport": "true" if guest.secure else "false",
            "aws:principalaccount": caller.id,
            "aws:principalarn": caller.arn,
            "aws:sourceip": self._address(guest),
        }

    def _refusal(self, guest: Guest, owner: str, resource: str) -> AccessDenied:
        """The owner is told why; others not even whether there is a policy."""
        if owner == guest.account:
            kind = "queue's" if parse_topic_arn(resource) is None else "topic's"
            return AccessDenied(
                f"Access to the resource {resource} is denied by an explicit deny in the {kind} policy."
            )
        return _denied(resource)


def _decoded(text: bytes) -> str:
    """What stands in base64; an empty text for what does not."""
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except ValueError:
        return ""


def _denied(resource: str) -> AccessDenied:
    return AccessDenied(f"Access to the resource {resource} is denied.")
