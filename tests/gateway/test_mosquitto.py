"""The command-line clients of Debian's mosquitto-clients."""

import subprocess
from typing import Any

import pytest

from rockdove.client import Client
from tests.support.gateway import Gateway
from tests.support.patience import wait_until


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("version", ["311", "5"])
@pytest.mark.parametrize("qos", ["0", "1"])
def test_publish(mqtt: Gateway, client: Client, queue: str, version: str, qos: str) -> None:
    words = ["mosquitto_pub", "-p", str(mqtt.port), "-V", version, "-q", qos, "-t", f"queues/{queue}", "-l"]
    done = run(*words, input="first\nsecond\nthird\n")
    assert (done.returncode, done.stderr) == (0, "")
    bodies: list[str] = []

    def have_come() -> bool:
        bodies.extend(message.body for message in client.receive(queue, limit=10, wait_s=1))
        return len(bodies) >= 3

    wait_until(have_come, "three messages")
    assert sorted(bodies) == ["first", "second", "third"]


@pytest.mark.parametrize("version", ["311", "5"])
def test_subscribe(mqtt: Gateway, client: Client, queue: str, version: str) -> None:
    client.send(queue, "open")
    done = run("mosquitto_sub", "-p", str(mqtt.port), "-V", version, "-q", "1", "-t", f"queues/{queue}", "-C", "1")
    assert (done.returncode, done.stdout) == (0, "open\n")


def test_refused(mqtt: Gateway) -> None:
    done = run("mosquitto_pub", "-p", str(mqtt.port), "-V", "5", "-q", "1", "-t", "queues/nothing", "-m", "x")
    assert "Topic Name invalid" in done.stdout + done.stderr
