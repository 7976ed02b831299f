"""What a console is started with."""

from pathlib import Path

from msgspec import Struct


class Settings(Struct, frozen=True):
    """Where the service is, and where the console listens."""

    # The service.
    endpoint: str
    host: str = "127.0.0.1"
    port: int = 9325
    region: str | None = None
    # The folder with the reports of `rockdove analyse`.
    reports: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    # Whether other machines can reach the console: then there must be accounts.
    exposed: bool = False

    @property
    def is_encrypted(self) -> bool:
        return self.certificate is not None
