"""What a client proves by who it is, besides the signatures of SDKs: a token, or a name and a secret key."""

import base64
import os
import re
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from rockdove.wire.signature import Credentials

# In the environment: an access token.
TOKEN = "ROCKDOVE_TOKEN"
# What a header can hold.
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class Bearer(Struct, frozen=True):
    """An access token of an account (``rockdove account token``)."""

    token: str

    def __post_init__(self) -> None:
        if not _VISIBLE.fullmatch(self.token):
            raise ValueError("a token has neither blanks nor control characters, and no letters beyond ASCII")

    def __repr__(self) -> str:
        """Without the secret: this may end up in a log."""
        return "Bearer(...)"

    @property
    def header(self) -> str:
        """The header ``Authorization``."""
        return f"Bearer {self.token}"


class Basic(Struct, frozen=True):
    """An account's name, or its access key, and its secret key or one of its tokens."""

    name: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret: this may end up in a log."""
        return f"Basic({self.name!r}, ...)"

    @property
    def header(self) -> str:
        """The header ``Authorization``."""
        return "Basic " + base64.b64encode(f"{self.name}:{self.secret}".encode()).decode()


class Nobody(Struct, frozen=True):
    """No credentials, whatever the environment has."""


AnyCredentials: TypeAlias = Credentials | Bearer | Basic | Nobody


def environment_credentials(environment: Mapping[str, str] = os.environ) -> AnyCredentials | None:
    """A key pair where there is one, as SDKs have it; else a token."""
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN") or None)
    token = environment.get(TOKEN)
    return Bearer(token) if token else None
