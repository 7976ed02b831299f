"""Ports for programs that cannot choose a free one themselves."""

import random
import socket

# Below those that the kernel gives to outgoing connections: one of them must not take the port of a service that is
# being started again.
_PORTS = range(10_000, 32_000)


def free_port() -> int:
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
