"""Devices that speak MQTT, by the client library that most of them use."""

import ssl
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

V311, V5 = MQTTProtocolVersion.MQTTv311, MQTTProtocolVersion.MQTTv5
VERSIONS = [V311, V5]
TIMEOUT_S = 20.0


class Got(NamedTuple):
    """A message that came."""

    topic: str
    payload: bytes
    qos: int
    properties: Any
    mid: int


class Device:
    """Connects at once, and does not come back by itself."""

    def __init__(
        self,
        port: int,
        id: str = "d1",
        version: MQTTProtocolVersion = V5,
        *,
        user: str | None = None,
        password: str | None = None,
        will: tuple[str, bytes] | None = None,
        keep_alive_s: int = 60,
        tls: ssl.SSLContext | None = None,
        manual: bool = False,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """``manual``: what comes is not acknowledged."""
        self.got: list[Got] = []
        # The reasons of the last answers.
        self.connected: Any = None
        self.disconnected: Any = None
        self.welcome: Any = None
        self.granted: list[Any] = []
        self.answers: dict[int, Any] = {}
        # What the last answer to a PUBLISH says in words.
        self.explanation: str | None = None
        self._changed = threading.Condition()
        clean = None if version == V5 else True
        self.paho = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=id,
            clean_session=clean,
            protocol=version,
            reconnect_on_failure=False,
            manual_ack=manual,
        )
        self._version = version
        if user is not None or password is not None:
            self.paho.username_pw_set(user, password)
        if will is not None:
            self.paho.will_set(*will, qos=1)
        if tls is not None:
            self.paho.tls_set_context(tls)
        self.paho.on_connect = self._on_connect
        self.paho.on_disconnect = self._on_disconnect
        self.paho.on_subscribe = self._on_subscribe
        self.paho.on_message = self._on_message
        self.paho.on_publish = self._on_publish
        given = None if properties is None else _properties(PacketTypes.CONNECT, properties)
        self.paho.connect("127.0.0.1", port, keepalive=keep_alive_s, properties=given)
        self.paho.loop_start()
        self.wait(lambda: self.connected is not None or self.disconnected is not None, "answer to CONNECT")

    def wait(self, holds: Any, what: str, timeout_s: float = TIMEOUT_S) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, timeout_s), f"no {what} within {timeout_s} s"

    def publish(
        self, topic: str, payload: bytes | str, qos: int = 1, retain: bool = False, **properties: Any
    ) -> paho.MQTTMessageInfo:
        given = _properties(PacketTypes.PUBLISH, properties) if properties else None
        return self.paho.publish(topic, payload, qos, retain, given)

    def publish_and_wait(self, topic: str, payload: bytes | str, **options: Any) -> Any:
        """The reason that the answer gives."""
        info = self.publish(topic, payload, **options)
        self.wait(lambda: info.mid in self.answers or self.disconnected is not None, "answer to PUBLISH")
        return self.answers.get(info.mid)

    def subscribe(self, *topics: str, qos: int = 1) -> Sequence[Any]:
        before = len(self.granted)
        self.paho.subscribe([(topic, qos) for topic in topics])
        self.wait(lambda: len(self.granted) > before or self.disconnected is not None, "answer to SUBSCRIBE")
        return self.granted[-1]  # type: ignore[no-any-return]

    def wait_for(self, number: int, timeout_s: float = TIMEOUT_S) -> list[Got]:
        self.wait(lambda: len(self.got) >= number, f"{number} messages", timeout_s)
        return self.got

    def close(self) -> None:
        self.paho.disconnect()
        self.cut()

    def cut(self) -> None:
        """As if its machine were gone: no DISCONNECT is sent."""
        self.paho.loop_stop()
        sock = self.paho.socket()
        if sock is not None:
            sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, change: Any) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._note(lambda: self.__dict__.update(connected=reason, welcome=properties))

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._note(lambda: self.__dict__.update(disconnected=(reason, getattr(properties, "ReasonString", None))))

    def _on_subscribe(self, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        self._note(lambda: self.granted.append([reason.value for reason in reasons]))

    def _on_publish(self, client: Any, data: Any, mid: Any, reason: Any, properties: Any) -> None:
        self.explanation = getattr(properties, "ReasonString", None)
        self._note(lambda: self.answers.update({mid: reason}))

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        got = Got(message.topic, message.payload, message.qos, getattr(message, "properties", None), message.mid)
        self._note(lambda: self.got.append(got))


def _properties(kind: int, values: Mapping[str, Any]) -> Properties:
    made = Properties(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made
