"""An account as it is kept: who owns queues, with which keys requests are signed, who may administer."""

import re
import secrets
import string

from msgspec import Struct, field

from rockdove.core.errors import InvalidParameterValue

# The first account's id, which is also whose queues are while there are no accounts: they stay its own.
FIRST_ID = "000000000000"

MAX_NAME_LENGTH = 64
MIN_PASSWORD_LENGTH = 8
MAX_PASSWORD_LENGTH = 1_024
# An account has two while its key is being replaced.
MAX_KEYS = 2

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@-]{{0,{MAX_NAME_LENGTH - 1}}}")
_ID = re.compile(r"[0-9]{12}")
_KEY_PREFIX = "RDAK"
_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits


class Key(Struct, frozen=True):
    """An access key. ``sealed`` is its secret under the service's key file: without that file it says nothing."""

    access_key: str
    sealed: str
    created_us: int


class Account(Struct, kw_only=True, frozen=True):
    """An owner of queues. ``password`` is an argon2 hash, for the console. The newest key stands last."""

    id: str
    name: str
    created_us: int
    admin: bool = False
    enabled: bool = True
    keys: list[Key] = field(default_factory=list)
    password: str | None = None


def new_id() -> str:
    return f"{secrets.randbelow(10**12):012d}"


def new_access_key() -> str:
    """Looks like AWS's: some tools check that."""
    return _KEY_PREFIX + "".join(secrets.choice(_KEY_LETTERS) for _ in range(16))


def new_secret() -> str:
    """As long as AWS's, without characters that a shell or a URL would have to quote."""
    return "".join(secrets.choice(_SECRET_LETTERS) for _ in range(40))


def sealed_for(owner: str, access_key: str) -> str:
    """What a secret is sealed for, by the account's id: one that is moved to another key does not open."""
    return f"{owner}/{access_key}"


def check_name(name: str) -> None:
    """Raises `InvalidParameterValue`."""
    if not _NAME.fullmatch(name):
        raise InvalidParameterValue(
            f"The name of an account has 1 to {MAX_NAME_LENGTH} letters, digits, dots, hyphens, underscores and @, and "
            "begins with a letter or a digit."
        )
    if _ID.fullmatch(name):
        raise InvalidParameterValue("The name of an account must not look like an account id.")


def check_password(password: str) -> None:
    """Raises `InvalidParameterValue`, which does not repeat the password."""
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise InvalidParameterValue(
            f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH:,} characters, not {len(password):,}."
        )
