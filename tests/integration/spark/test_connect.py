"""Spark Connect: servers, and programs that reach them over the network."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest

from rockdove.client import Client
from tests.integration.spark.bare import clean_environment
from tests.support.filling import empty, fill
from tests.support.port import free_port
from tests.support.server import ServerFactory

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
PATIENCE_S = 600
KEYS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-server"}

pytestmark = pytest.mark.xdist_group("connect")


class Connect(NamedTuple):
    url: str
    log: Path

    def run(self, lines: str) -> str:
        """Run lines of a program that has a session, `spark`."""
        program = (
            "from pyspark.sql import SparkSession\nimport rockdove.spark\n"
            f"spark = SparkSession.builder.remote({self.url!r}).getOrCreate()\n"
            f"rockdove.spark.register(spark)\n{lines}\nspark.stop()\n"
        )
        # Nothing of the machine's: the process of the tests may have a session of the other kind.
        environment = {name: value for name, value in os.environ.items() if "SPARK" not in name}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def bare(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    """A server whose Python has no Rockdove."""
    with _server(python, tmp_path_factory.mktemp("bare")) as found:
        yield found


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Connect]:
    with _server(Path(sys.executable), tmp_path) as found:
        yield found


@contextmanager
def _server(python: Path, folder: Path) -> Iterator[Connect]:
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": f"{port}",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    command = [SUBMIT, "--master", "local[2]", "--driver-memory", "1g"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = clean_environment() | KEYS | {"PYSPARK_PYTHON": str(python), "SPARK_CONF_DIR": str(folder)}
    environment["SPARK_SUBMIT_OPTS"] = environment["SPARK_DAEMON_JAVA_OPTS"]
    log = folder / "server.log"
    with log.open("wb") as target:
        place = {"cwd": folder, "env": environment, "stdout": target, "stderr": target, "start_new_session": True}
        server = subprocess.Popen(command, **place)  # type: ignore[call-overload]
    try:
        _await_port(port, server)
        yield Connect(f"sc://127.0.0.1:{port}", log)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(PATIENCE_S)


def _await_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("Spark Connect did not come up")


def test_tables_on_a_server_without_rockdove(bare: Connect, server: ServerFactory) -> None:
    service = server.shared()
    with Client(service.endpoint) as client:
        client.create_queue("connect-table")
        fill(client, "connect-table", [f"message {number}" for number in range(100)])
        told = bare.run(f"""
rockdove.spark.register(spark)
of = lambda way: way.format("rockdove").option("endpoint", {service.endpoint!r}).option("queue", "connect-table")
print(of(spark.read).load().count())
of(spark.createDataFrame([("one more",)], ["body"]).write.mode("append")).save()
""")
        assert told == "100\n"
        assert sorted(empty(client, "connect-table")) == sorted([*(f"message {n}" for n in range(100)), "one more"])


def test_a_stream_from_queue_to_queue(installed: Connect, server: ServerFactory, tmp_path: Path) -> None:
    """Spark gives streams nothing of what a session has uploaded."""
    service = server.shared()
    bodies = [f"message {number}" for number in range(100)]
    with Client(service.endpoint) as client:
        for name in ("connect-in", "connect-out"):
            client.create_queue(name)
        fill(client, "connect-in", bodies)
        installed.run(f"""
of = lambda way, queue: way.format("rockdove").option("endpoint", {service.endpoint!r}).option("queue", queue)
stream = of(spark.readStream, "connect-in").load().select("body")
query = of(stream.writeStream, "connect-out").option("checkpointLocation", {str(tmp_path / "checkpoint")!r})
query.trigger(availableNow=True).start().awaitTermination()
""")
        assert sorted(empty(client, "connect-out")) == sorted(bodies)


def test_keys_are_the_servers_and_those_in_options_are_warned_of(bare: Connect, server: ServerFactory) -> None:
    """It is the server that reads its environment, and files."""
    service = server.shared()
    with Client(service.endpoint) as client:
        client.create_queue("connect-keys")
    peek = (
        f'print(spark.read.format("rockdove").option("endpoint", {service.endpoint!r}).option("queue", "connect-keys")'
    )
    assert bare.run(f"{peek}.load().count())") == "0\n"
    assert "rockdove: Spark Connect shows the options" not in bare.log.read_text()
    assert bare.run(f'{peek}.option("accessKey", "an-id").option("secretKey", "very-secret").load().count())') == "0\n"
    said = [line for line in bare.log.read_text().splitlines() if line.startswith("rockdove:")]
    assert said, "no warning"
    assert "credentialsFile" in said[0]
    assert not any("very-secret" in line for line in said)
