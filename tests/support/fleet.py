"""Many devices in one thread, by the client library that most of them use: each sends now and then, and comes back."""

import selectors
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode

from tests.support.device import V5, V311

_BACK_S = 0.3
_STEP_S = 0.05


class _Device:
    """One of them; half of them speak 3.1.1."""

    def __init__(self, number: int, port: int, topic: str, every_s: float, rest: float) -> None:
        self.name = f"device-{number}"
        self.acknowledged: set[str] = set()
        self.is_connected = False
        self._port = port
        self._topic = topic
        self._every_s = every_s
        self._next_s = time.monotonic() + rest * every_s
        self._bodies: dict[int, str] = {}
        self._count = 0
        version = V5 if number % 2 else V311
        clean = None if version == V5 else True
        self.paho = paho.Client(CallbackAPIVersion.VERSION2, client_id=self.name, clean_session=clean, protocol=version)
        self.paho.on_connect = self._on_connect
        self.paho.on_disconnect = self._on_disconnect
        self.paho.on_publish = self._on_publish

    def connect(self) -> bool:
        try:
            return bool(self.paho.connect("127.0.0.1", self._port, keepalive=30) == MQTTErrorCode.MQTT_ERR_SUCCESS)
        except OSError:
            return False

    def work(self, sends: bool) -> None:
        if sends and self.is_connected and time.monotonic() >= self._next_s:
            self._next_s += self._every_s
            self._count += 1
            body = f"{self.name}/{self._count}"
            self._bodies[self.paho.publish(self._topic, body, qos=1).mid] = body

    @property
    def is_done(self) -> bool:
        return not self._bodies

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.is_connected = not reason.is_failure

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.is_connected = False

    def _on_publish(self, client: Any, data: Any, mid: int, reason: Any, properties: Any) -> None:
        assert not getattr(reason, "is_failure", False), reason
        self.acknowledged.add(self._bodies.pop(mid))


class Fleet:
    """Runs until it is told to stop; then all devices wait for the answers to what they have sent."""

    def __init__(self, number: int, port: int, topic: str, every_s: float) -> None:
        self.devices = [_Device(at, port, topic, every_s, at / number) for at in range(number)]
        self._selector = selectors.DefaultSelector()
        self._sockets: dict[_Device, Any] = {}
        self._back_s = dict.fromkeys(self.devices, 0.0)
        self._is_over = False
        self._sends = True
        self._rounds = 0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    @property
    def connected(self) -> int:
        return sum(device.is_connected for device in self.devices)

    def acknowledged(self) -> set[str]:
        return {body for device in self.devices for body in list(device.acknowledged)}

    def wait(self, holds: Callable[[], bool], what: str, timeout_s: float = 120) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds():
            if self._error is not None:
                raise self._error
            assert time.monotonic() < deadline, f"no {what} within {timeout_s} s"
            time.sleep(0.02)

    def rest(self) -> None:
        """Send nothing more, and wait for the answers to all that was sent."""
        self._sends = False
        # A round that has begun before that may send.
        over = self._rounds + 2
        self.wait(lambda: self._rounds >= over, "end of the round")
        self.wait(lambda: all(device.is_done for device in self.devices), "answers to all that was sent")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        self._thread.join()
        for device in self.devices:
            device.paho.disconnect()
            device.paho.loop_write()
        self._selector.close()

    def _run(self) -> None:
        try:
            while not self._is_over:
                self._step()
                self._rounds += 1
        except BaseException as error:
            self._error = error

    def _step(self) -> None:
        now_s = time.monotonic()
        for device in self.devices:
            sock = device.paho.socket()
            if sock is None and now_s >= self._back_s[device]:
                self._forget(device)
                self._back_s[device] = now_s + _BACK_S
                device.connect()
                sock = device.paho.socket()
            if sock is not None and self._sockets.get(device) is not sock:
                self._forget(device)
                self._sockets[device] = sock
                self._selector.register(sock, selectors.EVENT_READ, device)
            device.work(self._sends)
            if device.paho.want_write():
                device.paho.loop_write()
            device.paho.loop_misc()
        for key, _ in self._selector.select(_STEP_S):
            key.data.paho.loop_read()
            if key.data.paho.socket() is None:
                self._forget(key.data)

    def _forget(self, device: _Device) -> None:
        sock = self._sockets.pop(device, None)
        if sock is not None:
            self._selector.unregister(sock)
