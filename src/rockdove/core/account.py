"""An account as it is kept: who owns queues, with which keys requests are signed, who may administer."""

import hashlib
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
MAX_TOKENS = 100
MAX_LABEL_LENGTH = 64

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@-]{{0,{MAX_NAME_LENGTH - 1}}}")
_ID = re.compile(r"[0-9]{12}")
_TOKEN = re.compile(r"rd_([a-z0-9]{12})_([A-Za-z0-9]{32})")
_KEY_PREFIX = "RDAK"
_KEY_LETTERS = string.ascii_uppercase + string.digits
_SECRET_LETTERS = string.ascii_letters + string.digits


class Key(Struct, frozen=True):
    """An access key. ``sealed`` is its secret under the service's key file: without that file it says nothing."""

    access_key: str
    sealed: str
    created_us: int


class Token(Struct, frozen=True):
    """An access token, for who cannot sign. Only a digest of its secret is kept: nobody can tell it again."""

    id: str
    digest: str
    created_us: int
    # What it is for, in its owner's words.
    label: str = ""


class Account(Struct, kw_only=True, frozen=True):
    """An owner of queues. ``password`` is an argon2 hash, for the console. The newest key stands last."""

    id: str
    name: str
    created_us: int
    admin: bool = False
    enabled: bool = True
    keys: list[Key] = field(default_factory=list)
    password: str | None = None
    tokens: list[Token] = field(default_factory=list)


def new_id() -> str:
    return f"{secrets.randbelow(10**12):012d}"


def new_access_key() -> str:
    """Looks like AWS's: some tools check that."""
    return _KEY_PREFIX + "".join(secrets.choice(_KEY_LETTERS) for _ in range(16))


def new_secret() -> str:
    """As long as AWS's, without characters that a shell or a URL would have to quote."""
    return "".join(secrets.choice(_SECRET_LETTERS) for _ in range(40))


def new_token(created_us: int, label: str) -> tuple[Token, str]:
    """A token, and its text, which is its only copy. Its secret is random and long, so that a plain digest will do."""
    id = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(12))
    secret = "".join(secrets.choice(_SECRET_LETTERS) for _ in range(32))
    return Token(id, digest_of(secret), created_us, label), f"rd_{id}_{secret}"


def token_parts(text: str) -> tuple[str, str] | None:
    """The id of a token, and its secret; None for what is no token."""
    found = _TOKEN.fullmatch(text)
    return (found[1], found[2]) if found else None


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


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


def check_label(label: str) -> None:
    """Raises `InvalidParameterValue`."""
    if len(label) > MAX_LABEL_LENGTH or not label.isprintable():
        raise InvalidParameterValue(
            f"The label of a token has at most {MAX_LABEL_LENGTH} characters, and no control characters."
        )


def check_password(password: str) -> None:
    """Raises `InvalidParameterValue`, which does not repeat the password."""
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise InvalidParameterValue(
            f"A password has {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH:,} characters, not {len(password):,}."
        )
