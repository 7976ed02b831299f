"""Messages of a queue, published to a client that has subscribed to its topic."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.property import MQTTPublishProps

from rockdove.client import AsyncClient, Message, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault
from rockdove.core.limits import MAX_RECEIVE, MAX_WAIT_S
from rockdove.gateway.error import Why, refusal
from rockdove.gateway.message import payload_of
from rockdove.gateway.mqtt.outbox import Outbox
from rockdove.gateway.mqtt.publication import CONTENT_TYPE, CORRELATION_DATA, OWN, RESPONSE_TOPIC
from rockdove.server.seldom import Seldom

# Between two attempts, while nothing can be received.
PAUSE_S = 2.0
# Seconds for giving messages back when the client has gone.
GIVE_BACK_S = 5.0
# Of messages of one queue that a client has not acknowledged, about so many bytes are in memory.
AT_ONCE_BYTES = 262_144
# The length of a property is written in two bytes.
MOST_PROPERTY_BYTES = 65_535
_WILDCARDS = frozenset("+#")

log = logging.getLogger("rockdove")


class Delivery:
    """A message is deleted when the client has acknowledged it; one that it has not goes back to the queue."""

    def __init__(
        self,
        client: AsyncClient,
        queue: str,
        topic: str,
        qos: int,
        outbox: Outbox,
        seldom: Seldom,
        end: Callable[[Reason, str], None],
    ) -> None:
        """``end`` ends the client's connection."""
        self._end = end
        self._client = client
        self._queue = queue
        self._topic = topic
        self._qos = qos
        self._outbox = outbox
        self._seldom = seldom
        self._task: asyncio.Task[None] | None = None
        # Receipt handles of messages that are on their way.
        self._held: set[str] = set()
        # Of messages to receive at a time: one, until it is known how large they are.
        self._limit = 1

    async def open(self) -> list[Message]:
        """The first messages, if there are any. Raises faults, `Unreachable` and `UnexpectedAnswer`."""
        messages = await self._client.receive(self._queue, limit=self._limit, wait_s=0)
        self._hold(messages)
        return messages

    def begin(self, first: list[Message]) -> None:
        self._task = asyncio.ensure_future(self._run(first))

    async def close(self) -> None:
        """Others may have at once what was not acknowledged."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._held:
            with contextlib.suppress(Fault, Unreachable, UnexpectedAnswer, TimeoutError):
                async with asyncio.timeout(GIVE_BACK_S):
                    await self._client.change_visibility_batch(self._queue, dict.fromkeys(self._held, 0))

    async def _run(self, messages: list[Message]) -> None:
        while True:
            try:
                # All at once, as far as the client takes them.
                if not all(await asyncio.gather(*map(self._deliver, messages))):
                    return
                messages = await self._client.receive(self._queue, limit=self._limit, wait_s=MAX_WAIT_S)
                self._hold(messages)
            except (Fault, Unreachable, UnexpectedAnswer) as error:
                messages = []
                refused = refusal(error) if isinstance(error, Fault) else None
                if refused is not None and refused.why is Why.NOBODY:
                    # To ask again and again would be a bad signature each time, which counts against all devices.
                    self._end(Reason.NotAuthorized, str(refused))
                    return
                self._seldom.warn("mqtt-receive", f"nothing can be received from {self._queue}: {error}")
                await asyncio.sleep(PAUSE_S)

    def _hold(self, messages: list[Message]) -> None:
        self._held.update(message.receipt_handle for message in messages)
        if messages:
            largest = max(len(message.body) for message in messages)
            self._limit = min(max(AT_ONCE_BYTES // largest, 1), MAX_RECEIVE)

    async def _deliver(self, message: Message) -> bool:
        """Whether the connection is still there."""
        try:
            reason = await self._outbox.deliver(self._topic, payload_of(message), self._qos, _properties(message))
        except ConnectionError:
            return False
        except Exception:
            # A defect of ours is no reason to deliver nothing any more; the message comes again later.
            log.exception("a message could not be delivered")
            reason = Reason.UnspecifiedError
        self._held.discard(message.receipt_handle)
        if reason.is_error():
            # It comes again when its visibility timeout is over, or ends as a dead letter.
            self._seldom.warn("mqtt-refused", f"a client refuses a message of {self._queue}: {reason.name}")
            return True
        try:
            await self._client.delete(self._queue, message.receipt_handle)
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            self._seldom.warn("mqtt-delete", f"an acknowledged message of {self._queue} comes again: {error}")
        return True


def _properties(message: Message) -> MQTTPublishProps:
    """Of its attributes those that fit: an attribute of a message may be longer than a property."""
    attributes = message.message_attributes
    properties = MQTTPublishProps()
    kind, topic = (attributes.get(name) for name in (CONTENT_TYPE, RESPONSE_TOPIC))
    if kind is not None and kind.string_value and _fits(kind.string_value.encode()):
        properties.ContentType = kind.string_value
    if topic is not None and topic.string_value and _is_topic(topic.string_value):
        properties.ResponseTopic = topic.string_value
    correlation = attributes.get(CORRELATION_DATA)
    if correlation is not None:
        data = correlation.binary_value or (correlation.string_value or "").encode()
        if _fits(data):
            properties.CorrelationData = data
    pairs = [
        (name, attribute.string_value)
        for name, attribute in attributes.items()
        if name not in OWN and attribute.string_value and _fits(attribute.string_value.encode())
    ]
    if pairs:
        properties.UserProperty = pairs
    return properties


def _is_topic(text: str) -> bool:
    """A client would take one with a wildcard for a breach of the protocol."""
    return _fits(text.encode()) and not _WILDCARDS.intersection(text)


def _fits(data: bytes) -> bool:
    return len(data) <= MOST_PROPERTY_BYTES
