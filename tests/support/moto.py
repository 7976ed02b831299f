"""A moto server: another service that speaks SQS."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.port import free_port, is_listening
from tests.support.process import Process


@contextmanager
def moto_server(folder: Path) -> Iterator[str]:
    """Its endpoint."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    with Process(command, folder, "moto") as process:
        process.wait_for(lambda: is_listening(port), "an open port", 60)
        yield f"http://127.0.0.1:{port}"
