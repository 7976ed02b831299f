"""Runs the console until it is told to stop."""

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from rockdove.console.app import make_app
from rockdove.console.setting import Settings

# Seconds for answers that are under way when the console stops.
_GRACE_S = 3
_BACKLOG = 256


class _Server(uvicorn.Server):
    """Ends its streams when it is told to stop: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As it was asked for, it is no failure: uvicorn's own would end the process by the same signal afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._on_stop)


def bind(host: str, port: int) -> socket.socket:
    """Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def run(settings: Settings, listening: socket.socket) -> None:
    """Until SIGINT or SIGTERM. Raises ValueError if the endpoint is none."""
    app: Starlette = make_app(settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        # What proxies say is looked at nowhere.
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    _Server(config, app.state.console.sessions.stop).run(sockets=[listening])
