"""Signing in with a password: it gives a session token, which says itself whose it is and until when."""

import hashlib
from collections.abc import Callable

import msgspec
from msgspec import Struct

from rockdove.core.account import Account
from rockdove.core.cipher import Cipher, Unsealable
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import InvalidClientTokenId

# Renewed by who is still there: one that got into wrong hands is soon of no use.
TOKEN_S = 15 * 60
# After this long somebody has to sign in again.
SESSION_S = 24 * 3600
PREFIX = "rs_"
# What a token is sealed for: nothing else that the key seals is taken for one.
_OWNER = "session"


class Ticket(Struct, frozen=True, array_like=True):
    """What a session token says."""

    account: str
    began_us: int
    until_us: int
    # Of the password's hash: with another password, the session ends.
    password: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Ticket).decode


class Session(Struct, frozen=True):
    """A token just made."""

    account: Account
    token: str
    until_us: int

    def __repr__(self) -> str:
        """Without the secret: this may end up in a log."""
        return f"Session({self.account.name!r})"


class Sessions:
    """Makes and reads session tokens. Nothing is kept: any front-end that has the key file can read them."""

    def __init__(self, cipher: Callable[[], Cipher], by_id: Callable[[str], Account | None], clock: Clock) -> None:
        """``cipher`` may raise `DataFolderError`."""
        self._cipher = cipher
        self._by_id = by_id
        self._clock = clock

    def begin(self, account: Account) -> Session:
        """For who has just shown the password. Raises `DataFolderError`."""
        return self._make(account, self._clock.now_us())

    def renew(self, token: str) -> Session:
        """A token for longer. Raises `InvalidClientTokenId` if it is nobody's any more."""
        found = self._read(token)
        if found is None:
            raise InvalidClientTokenId("The session has ended. Sign in again.")
        ticket, account = found
        return self._make(account, ticket.began_us)

    def by_token(self, token: str) -> Account | None:
        """Whose session it is; None if nobody's, or if it has ended."""
        found = self._read(token)
        return None if found is None else found[1]

    def _make(self, account: Account, began_us: int) -> Session:
        until_us = min(self._clock.now_us() + TOKEN_S * SECOND_US, began_us + SESSION_S * SECOND_US)
        ticket = Ticket(account.id, began_us, until_us, _fingerprint(account))
        return Session(account, PREFIX + self._cipher().seal(_encode(ticket).decode(), _OWNER), until_us)

    def _read(self, token: str) -> tuple[Ticket, Account] | None:
        try:
            ticket = _decode(self._cipher().open(token.removeprefix(PREFIX), _OWNER))
        except (Unsealable, msgspec.DecodeError):
            return None
        account = self._by_id(ticket.account)
        if account is None or not account.enabled or ticket.password != _fingerprint(account):
            return None
        return (ticket, account) if self._clock.now_us() < ticket.until_us else None


def _fingerprint(account: Account) -> str:
    return hashlib.sha256((account.password or "").encode()).hexdigest()[:16]
