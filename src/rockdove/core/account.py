"""An account as it is kept: who owns queues, with which keys requests are signed, who may administer."""

from msgspec import Struct, field


class Key(Struct, frozen=True):
    """An access key. ``sealed`` is its secret under the service's key file: without that file it says nothing."""

    access_key: str
    sealed: str
    created_us: int


class Account(Struct, kw_only=True):
    """An owner of queues. ``password`` is an argon2 hash, for the console. The newest key stands last."""

    id: str
    name: str
    created_us: int
    admin: bool = False
    enabled: bool = True
    keys: list[Key] = field(default_factory=list)
    password: str | None = None
