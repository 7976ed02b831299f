"""A connection of a client, from its first packet to its end."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, NamedTuple

from ohmqtt.error import MQTTError
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import (
    MQTTConnAckPacket,
    MQTTConnectPacket,
    MQTTDisconnectPacket,
    MQTTPacket,
    MQTTPingReqPacket,
    MQTTPingRespPacket,
    MQTTPubAckPacket,
    MQTTPublishPacket,
    MQTTSubAckPacket,
    MQTTSubscribePacket,
    MQTTUnsubAckPacket,
    MQTTUnsubscribePacket,
)
from ohmqtt.property import (
    MQTTConnAckProps,
    MQTTDisconnectProps,
    MQTTPubAckProps,
    MQTTPublishProps,
    MQTTSubAckProps,
    MQTTWillProps,
)

from rockdove.client import Message, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault
from rockdove.gateway.error import Refused, Why, refusal
from rockdove.gateway.mqtt.delivery import Delivery
from rockdove.gateway.mqtt.ending import REASONS, Ending
from rockdove.gateway.mqtt.gateway import Gateway
from rockdove.gateway.mqtt.greeting import Greeting, greeting
from rockdove.gateway.mqtt.outbox import Outbox
from rockdove.gateway.mqtt.packet import Version
from rockdove.gateway.mqtt.publication import check_text, message_of
from rockdove.gateway.mqtt.stream import Stream
from rockdove.gateway.service import Visitor

# Seconds that a client has for its first packet, and for reading why its connection ends.
GREETING_S = 10.0
GOODBYE_S = 2.0
# Seconds for answers, when the gateway ends the connection.
FINISH_S = 3.0
# Publications of one connection that are under way; then nothing more is read, and no PINGREQ answered. Most clients
# send 20 of QoS 1 at a time, and any number of QoS 0.
AHEAD = 1_000
# Of one connection; each waits for messages at the service.
MOST_SUBSCRIPTIONS = 20
_QOS = 0x03
_RETAIN_HANDLING = 0x30
_SHARED = "$share/"
# Of a topic, in the log.
_SHOWN = 100
_SUBACK_REASONS = {
    Why.NOBODY: Reason.NotAuthorized,
    Why.DENIED: Reason.NotAuthorized,
    Why.NO_QUEUE: Reason.TopicFilterInvalid,
}

log = logging.getLogger("rockdove")


class _Sent(NamedTuple):
    """A publication of the client, on its way to the service; without packet id, nobody waits for an answer."""

    packet_id: int
    outcome: "asyncio.Future[str]"


class Connection:
    """Ends by `Ending`, which the client is told, or silently when the client has gone."""

    def __init__(self, stream: Stream, gateway: Gateway, peer: str) -> None:
        self._stream = stream
        self._gateway = gateway
        self._peer = peer
        self._tasks: list[asyncio.Task[Ending | None]] = []
        self._end: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._sent: asyncio.Queue[_Sent] = asyncio.Queue(AHEAD)
        self._deliveries: dict[str, Delivery] = {}
        # Whether the client has said goodbye: its will is not wanted then.
        self._has_left = False

    async def run(self) -> None:
        try:
            greeted = await self._greet()
            if greeted is not None:
                await self._serve(greeted)
        except OSError:
            # It has gone.
            pass
        finally:
            await self._stream.close(GOODBYE_S)

    async def refuse(self, reason: Reason, text: str) -> None:
        """Whoever it is."""
        try:
            if await self._greet() is not None:
                await self._turn_away(Ending(reason, text))
        except OSError:
            pass
        finally:
            await self._stream.close(GOODBYE_S)

    def end(self, reason: Reason, text: str) -> None:
        if not self._end.done():
            self._end.set_result(Ending(reason, text))

    # The first packet.

    async def _greet(self) -> Greeting | None:
        """None: it was refused."""
        try:
            try:
                packet = await self._stream.first(GREETING_S)
            except TimeoutError:
                raise Ending(Reason.ProtocolError, f"no CONNECT packet came within {GREETING_S:.0f} s") from None
            if packet is None:
                return None
            greeted = greeting(packet, self._stream.version)
            self._check_will(packet)
            return greeted
        except (MQTTError, Ending) as error:
            await self._turn_away(_ending(error))
            return None

    def _check_will(self, packet: MQTTConnectPacket) -> None:
        if packet.will_topic:
            check_text(packet.will_topic, "the topic of the will", Reason.TopicNameInvalid)
            self._queue_of(packet.will_topic)

    async def _turn_away(self, ending: Ending) -> None:
        self._warn("refused", ending)
        properties = MQTTConnAckProps(ReasonString=str(ending))
        await self._stream.send(MQTTConnAckPacket(ending.reason, properties=properties))

    # From then on.

    async def _serve(self, greeted: Greeting) -> None:
        service = self._gateway.service
        try:
            visitor = await service.admit(greeted.identity)
        except Refused as refused:
            known = refused.why is not Why.NOBODY
            await self._turn_away(Ending(Reason.NotAuthorized if known else Reason.BadUserNameOrPassword, str(refused)))
            return
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            await self._turn_away(Ending(Reason.ServerUnavailable, str(error)))
            return
        key = (greeted.identity, greeted.client)
        connections = self._gateway.connections
        former = connections.get(key)
        if former is not None:
            former.end(Reason.SessionTakenOver, "another connection of this client has taken its place")
        connections[key] = self
        try:
            await self._stream.send(greeted.welcome())
            ending = await self._converse(greeted, visitor)
            if ending is not None and not self._has_left:
                await self._say_goodbye(greeted, ending)
        finally:
            if connections.get(key) is self:
                del connections[key]
            await self._close(greeted, visitor)
            await service.leave(greeted.identity)

    async def _converse(self, greeted: Greeting, visitor: Visitor) -> Ending | None:
        """Until one of them ends it; None: the client has gone."""
        self._tasks = [
            asyncio.ensure_future(self._guarded(self._read(greeted, visitor))),
            asyncio.ensure_future(self._guarded(self._acknowledge(greeted))),
        ]
        ends: list[asyncio.Future[Any]] = [self._end, *self._tasks]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if self._end.done():
            await self._finish(self._tasks[0])
        ending: Ending | None = next(each for each in ends if each.done()).result()
        return ending

    async def _finish(self, reading: "asyncio.Task[Ending | None]") -> None:
        """Nothing more is read; what was read is acknowledged, if that does not take long."""
        reading.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S):
                await self._sent.join()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> Ending | None:
        try:
            await work
        except (MQTTError, Ending) as error:
            return _ending(error)
        except TimeoutError:
            return Ending(Reason.KeepAliveTimeout, "nothing came for longer than the keep-alive")
        except OSError:
            return None
        except Exception:
            log.exception("a connection of MQTT failed")
            return Ending(Reason.UnspecifiedError, "the gateway has failed; its log has more")
        return None

    async def _say_goodbye(self, greeted: Greeting, ending: Ending) -> None:
        self._warn("disconnected", ending)
        properties = MQTTDisconnectProps(ReasonString=str(ending)) if greeted.may_explain else MQTTDisconnectProps()
        await self._stream.send(MQTTDisconnectPacket(ending.reason, properties=properties))

    async def _close(self, greeted: Greeting, visitor: Visitor) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if not self._has_left and greeted.packet.will_topic:
            packet = greeted.packet
            await self._pass_on(packet.will_topic, packet.will_payload, packet.will_props, greeted, visitor)
        await asyncio.gather(*(delivery.close() for delivery in self._deliveries.values()))

    # What the client sends.

    async def _read(self, greeted: Greeting, visitor: Visitor) -> None:
        outbox = Outbox(self._stream, greeted.most_awaited, greeted.packet.properties.MaximumPacketSize)
        while True:
            packet = await self._stream.packet(greeted.keep_alive_s)
            match packet:
                case None:
                    return
                case MQTTPublishPacket():
                    await self._publish(packet, greeted, visitor)
                case MQTTPubAckPacket():
                    outbox.acknowledged(packet.packet_id, packet.reason_code)
                case MQTTSubscribePacket():
                    await self._subscribe(packet, greeted, visitor, outbox)
                case MQTTUnsubscribePacket():
                    await self._unsubscribe(packet)
                case MQTTPingReqPacket():
                    await self._stream.send(MQTTPingRespPacket())
                case MQTTDisconnectPacket():
                    self._has_left = packet.reason_code != Reason.DisconnectWithWillMessage
                    return
                case _:
                    raise _unexpected(packet)

    async def _publish(self, packet: MQTTPublishPacket, greeted: Greeting, visitor: Visitor) -> None:
        if packet.qos > 1:
            raise Ending(Reason.QoSNotSupported, "the quality of service can be 0 or 1")
        if packet.properties.TopicAlias is not None:
            raise Ending(Reason.TopicAliasInvalid, "aliases of topics are not taken here")
        if packet.retain and greeted.version is Version.V5:
            raise Ending(Reason.RetainNotSupported, "nothing is retained here; queues keep messages by themselves")
        if not packet.topic:
            raise Ending(Reason.ProtocolError, "the topic is empty")
        outcome = await self._pass_on(packet.topic, packet.payload, packet.properties, greeted, visitor)
        await self._sent.put(_Sent(packet.packet_id, outcome))

    async def _pass_on(
        self,
        topic: str,
        payload: bytes,
        properties: MQTTPublishProps | MQTTWillProps,
        greeted: Greeting,
        visitor: Visitor,
    ) -> "asyncio.Future[str]":
        """Fails with `Refused`."""
        try:
            check_text(topic, "the topic", Reason.TopicNameInvalid)
            queue = self._queue_of(topic)
            message = message_of(topic, payload, properties, greeted.client, queue)
        except (Refused, Ending) as error:
            outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            outcome.set_exception(error)
        else:
            outcome = await visitor.send(queue, greeted.client, message)
        outcome.add_done_callback(partial(self._note, topic))
        return outcome

    def _queue_of(self, topic: str) -> str:
        queue = self._gateway.topics.queue(topic)
        if queue is None:
            raise Ending(Reason.TopicNameInvalid, f"no queue stands for the topic {topic!r}; queues/NAME always does")
        return queue

    def _note(self, topic: str, outcome: "asyncio.Future[str]") -> None:
        """The client may not be there any more, or speak a version that cannot tell it."""
        if not outcome.cancelled() and (error := outcome.exception()) is not None:
            text = f"a message of an MQTT client is refused: {error}"
            self._gateway.seldom.warn("mqtt-refused", text, topic=topic[:_SHOWN], peer=self._peer)

    async def _acknowledge(self, greeted: Greeting) -> None:
        """In the order in which they came."""
        while True:
            packet_id, outcome = await self._sent.get()
            reason, text = Reason.Success, ""
            # It goes on when this connection ends.
            await asyncio.wait([outcome])
            match None if outcome.cancelled() else outcome.exception():
                case Refused() as refused:
                    reason, text = REASONS[refused.why], str(refused)
                case Ending() as ending:
                    reason, text = ending.reason, str(ending)
            if reason is not Reason.Success and (greeted.version is Version.V311 or not packet_id):
                # There is no other way to say it.
                raise Ending(reason, text)
            if packet_id:
                properties = MQTTPubAckProps(ReasonString=text) if text and greeted.may_explain else MQTTPubAckProps()
                await self._stream.send(MQTTPubAckPacket(packet_id, reason, properties))
            self._sent.task_done()

    # What the client wants to get.

    async def _subscribe(
        self, packet: MQTTSubscribePacket, greeted: Greeting, visitor: Visitor, outbox: Outbox
    ) -> None:
        if packet.properties.SubscriptionIdentifier is not None:
            raise Ending(Reason.SubscriptionIdentifiersNotSupported, "subscriptions have no identifiers here")
        reasons: list[Reason] = []
        properties = MQTTSubAckProps()
        # By topic: one packet may name the same one twice.
        opened: dict[str, tuple[Delivery, list[Message]]] = {}
        for topic, options in packet.topics:
            if options & _QOS == _QOS or options & _RETAIN_HANDLING == _RETAIN_HANDLING:
                raise Ending(Reason.MalformedPacket, "there are no such options of a subscription")
            qos = min(options & _QOS, 1)
            opened.pop(topic, None)
            try:
                delivery = await self._delivery(topic, qos, visitor, outbox)
                opened[topic] = delivery, await self._open(topic, delivery)
            except Ending as ending:
                self._warn("not subscribed", ending)
                reasons.append(ending.reason)
                if greeted.may_explain:
                    properties.ReasonString = str(ending)
            else:
                reasons.append(Reason(qos))
        await self._stream.send(MQTTSubAckPacket(packet.packet_id, reasons, properties))
        for delivery, messages in opened.values():
            delivery.begin(messages)

    async def _delivery(self, topic: str, qos: int, visitor: Visitor, outbox: Outbox) -> Delivery:
        """In place of an earlier one for this topic. Raises `Ending`."""
        if topic.startswith(_SHARED):
            raise Ending(
                Reason.SharedSubscriptionsNotSupported, "all subscribers of a topic share its queue without $share"
            )
        if "+" in topic or "#" in topic:
            raise Ending(Reason.WildcardSubscriptionsNotSupported, f"{topic!r} has a wildcard; a queue has one topic")
        queue = self._gateway.commands.queue(topic)
        if queue is None:
            raise Ending(Reason.TopicFilterInvalid, f"no queue stands for the topic {topic!r}; queues/NAME always does")
        await self._stop(topic)
        if len(self._deliveries) >= MOST_SUBSCRIPTIONS:
            raise Ending(Reason.QuotaExceeded, f"a client can have {MOST_SUBSCRIPTIONS} subscriptions")
        delivery = Delivery(visitor.client, queue, topic, qos, outbox, self._gateway.seldom, self.end)
        self._deliveries[topic] = delivery
        return delivery

    async def _open(self, topic: str, delivery: Delivery) -> list[Message]:
        """Raises `Ending` if nothing can be received."""
        try:
            return await delivery.open()
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            del self._deliveries[topic]
            refused = refusal(error) if isinstance(error, Fault) else None
            reason = Reason.UnspecifiedError if refused is None else _SUBACK_REASONS.get(refused.why)
            raise Ending(reason or Reason.ImplementationSpecificError, str(error)) from None

    async def _unsubscribe(self, packet: MQTTUnsubscribePacket) -> None:
        reasons = []
        for topic in packet.topics:
            reasons.append(Reason.Success if await self._stop(topic) else Reason.NoSubscriptionExisted)
        await self._stream.send(MQTTUnsubAckPacket(packet.packet_id, reasons))

    async def _stop(self, topic: str) -> bool:
        """Whether there was something to stop."""
        delivery = self._deliveries.pop(topic, None)
        if delivery is not None:
            await delivery.close()
        return delivery is not None

    def _warn(self, what: str, ending: Ending) -> None:
        self._gateway.seldom.warn(
            f"mqtt-{what.replace(' ', '-')}", f"an MQTT client is {what}: {ending}", peer=self._peer
        )


def _ending(error: MQTTError | Ending) -> Ending:
    # Its own text names the reason, too.
    return error if isinstance(error, Ending) else Ending(error.reason_code, str(error.args[0]))


def _unexpected(packet: MQTTPacket) -> Ending:
    return Ending(Reason.ProtocolError, f"a client does not send {packet.packet_type.name} here")
