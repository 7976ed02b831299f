"""``rockdove serve``: run the service."""

import asyncio
import logging
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from rockdove.core.errors import DataFolderError
from rockdove.server.service import Service, Settings


class StoreName(StrEnum):
    """The stores to choose from."""

    sqlite = "sqlite"
    memory = "memory"


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.", min=0, max=65535)] = 9324,
    data: Annotated[Path, typer.Option(help="Folder that holds the messages.")] = Path("data"),
    store: Annotated[StoreName, typer.Option(help="Where messages live.")] = StoreName.sqlite,
    region: Annotated[str, typer.Option(help="The region that ARNs carry.")] = "us-east-1",
    trust_proxy: Annotated[
        bool, typer.Option("--trust-proxy", help="Build queue URLs from X-Forwarded-* headers.")
    ] = False,
    cool_down: Annotated[
        bool, typer.Option(help="Refuse to purge again, or to re-create a deleted queue, for 60 s, as SQS does.")
    ] = True,
) -> None:
    """Run the queue service until it is stopped."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    settings = Settings(
        host=host,
        port=port,
        data=data,
        store=store.value,
        region=region,
        trust_proxy=trust_proxy,
        cool_down=cool_down,
    )
    try:
        uvloop.run(_run(settings))
    except DataFolderError as error:
        print(f"rockdove: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    except OSError as error:
        print(f"rockdove: cannot listen on {host}:{port}: {error.strerror or error}", file=sys.stderr)
        raise typer.Exit(1) from None


async def _run(settings: Settings) -> None:
    service = Service(settings)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await service.start()
    print(f"ready http://{settings.host}:{service.port}", flush=True)
    await stopped.wait()
    await service.stop()
