"""Front-ends as processes of this machine. They are no children of the controller's: the next one finds them."""

import asyncio
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rockdove.elastic.front_end import page
from rockdove.elastic.front_end.base import FrontEndError
from rockdove.elastic.front_end.hold import OUTPUT, command
from rockdove.elastic.front_end.page import Reading
from rockdove.elastic.provision.base import Seen
from rockdove.elastic.provision.process import ProcessProvisioner

_TOKEN = "metrics.token"


class _Told(msgspec.Struct):
    """The line that `rockdove serve --json` prints once it listens."""

    ready: str


class LocalFleet:
    """``folder``: for reports, logs and the token for metrics. ``flags``: more words for each `rockdove serve`."""

    def __init__(self, folder: Path, flags: Sequence[str] = ()) -> None:
        self._folder = folder
        self._provisioner = ProcessProvisioner(folder, self._command, what="front-end", pauses=False, reports=False)
        self._flags = flags
        self._token = _token(folder / _TOKEN)

    def _command(self, number: int, report: Path) -> list[str]:
        """One process each: it is another that takes the load, not more of the same."""
        serve = [sys.executable, "-m", "rockdove", "serve", "--json", "--host", "127.0.0.1", "--port", "0"]
        # Behind the dispatcher, which says who the client is: so nobody is local, and metrics need the token.
        behind = ["--workers", "0", "--trust-proxy", "--metrics-token-file", str((self._folder / _TOKEN).absolute())]
        return command(report, number, [*serve, *behind, *self._flags])

    async def start(self, number: int) -> None:
        # What the one before of that number has printed.
        for old in self._folder.glob(f"*-{number}{OUTPUT}"):
            old.unlink(missing_ok=True)
        await self._provisioner.start(number)

    async def drain(self, number: int) -> None:
        await self._provisioner.drain(number)

    async def stop(self, number: int) -> None:
        await self._provisioner.stop(number)

    async def list(self) -> list[Seen]:
        return await self._provisioner.list()

    def address(self, seen: Seen) -> str | None:
        try:
            text = (self._folder / f"{seen.machine}-{seen.number}{OUTPUT}").read_bytes()
            url = msgspec.json.decode(text.partition(b"\n")[0], type=_Told).ready
        except (OSError, msgspec.MsgspecError):
            return None
        if not url.startswith("http://"):
            raise FrontEndError(
                "front-ends are to speak plain HTTP to the dispatcher: leave out tls_cert and tls_key in rockdove.toml "
                "and in the environment"
            )
        return url

    def last_words(self, number: int) -> str:
        try:
            lines = (self._folder / f"{number}.log").read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line), "")

    async def is_ready(self, url: str) -> bool | None:
        return await asyncio.to_thread(page.is_ready, url)

    async def read(self, url: str) -> Reading | None:
        return await asyncio.to_thread(page.reading, url, self._token)


def _token(path: Path) -> str:
    """The same for all that live."""
    if not path.exists():
        new = path.with_suffix(".new")
        new.touch(0o600)
        new.write_text(secrets.token_hex(32))
        new.rename(path)
    return path.read_text().strip()
