"""The accounts of a service: who there is, whose key is whose, and what an administrator may change."""

import logging
from collections.abc import Callable
from functools import partial
from hmac import compare_digest
from time import monotonic

from msgspec import Struct
from msgspec.structs import replace

from rockdove.broker.ask import ask
from rockdove.broker.feed import Feed
from rockdove.broker.password import Passwords
from rockdove.broker.session import PREFIX as SESSION_PREFIX
from rockdove.broker.session import Sessions
from rockdove.core import account as rules
from rockdove.core.account import Account, Key, Token
from rockdove.core.cipher import Cipher, Unsealable
from rockdove.core.clock import Clock
from rockdove.core.errors import (
    AccessDenied,
    AccountConflict,
    AccountExists,
    DataFolderError,
    NoSuchAccount,
    NoSuchToken,
    ServiceUnavailable,
)
from rockdove.store.base import AccountDropped, AccountPut, Change, Records, Snapshot
from rockdove.store.common.keyfile import KeySource

# All of them are one thing: see `rockdove.store.base.record`.
_ACCOUNTS = "accounts"

log = logging.getLogger("rockdove")

# Seconds between two looks for a key file that is missing.
LOOK_S = 1.0
# Queues named at most in a message.
_TOLD = 5


class NewKey(Struct, frozen=True):
    """A key just made. This is the only time that its secret is told."""

    account: Account
    access_key: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret: this may end up in a log."""
        return f"NewKey({self.account.name!r}, {self.access_key!r})"


class NewToken(Struct, frozen=True):
    """A token just made. This is the only time that it is told."""

    account: Account
    id: str
    text: str

    def __repr__(self) -> str:
        """Without the secret: this may end up in a log."""
        return f"NewToken({self.account.name!r}, {self.id!r})"


class Accounts:
    """Changes accounts. ``exist``, `by_key` and `by_id` are for every request: no I/O, no waiting."""

    def __init__(
        self, records: Records, feed: Feed, clock: Clock, key: KeySource, owned: Callable[[str], dict[str, list[str]]]
    ) -> None:
        """``owned`` gives the names of what an account id has, by the kind, such as queues."""
        # Whether there is any account; once there is, there always will be.
        self.exist = False
        # Called with the ids of accounts that have lost a key; with None when the first account is made, because from
        # then on every request must be signed.
        self.on_lost: Callable[[set[str] | None], None] = lambda ids: None
        # Called when there were accounts, and there are none: the store has forgotten everything.
        self.on_vanished: Callable[[], None] = lambda: None
        self._records = records
        self._feed = feed
        self._clock = clock
        self._key = key
        self._owned = owned
        self._cipher: Cipher | None = None
        # The key that it is for.
        self._read: bytes | None = None
        self._passwords = Passwords()
        self.sessions = Sessions(self._cipher_of_sessions, self.by_id, clock)
        self._by_id: dict[str, Account] = {}
        self._former: set[str] = set()
        self._secrets: dict[str, str] = {}
        self._by_key: dict[str, tuple[Account, str]] = {}
        # Tokens by their ids.
        self._by_token: dict[str, tuple[Account, Token]] = {}
        # Why some cannot sign in here, in words for the operator, and when that was looked at last.
        self.trouble: str | None = None
        self._looked_s = 0.0
        self._has_begun = False

    # Records, see `rockdove.broker.feed.RecordFollower`.

    def load(self, snapshot: Snapshot) -> None:
        """Raises `DataFolderError` if the key file is missing or not the right one."""
        self._former = set(snapshot.former_accounts)
        self._by_id = {account.id: account for account in snapshot.accounts}
        if self.exist and not (self._by_id or self._former):
            self.on_vanished()
        self._index()
        self._has_begun = True

    def apply(self, change: Change) -> None:
        match change:
            case AccountPut(account=account):
                self._by_id[account.id] = account
                self._index()
            case AccountDropped(id=id):
                self._by_id.pop(id, None)
                self._former.add(id)
                self._index()

    # For every request.

    def by_key(self, access_key: str) -> tuple[Account, str] | None:
        """Whose key this is, and its secret. None if nobody's, or that of an account that is disabled."""
        self.look()
        return self._by_key.get(access_key)

    def by_token(self, text: str) -> Account | None:
        """Whose token this is, or whose session's. None if nobody's, or that of an account that is disabled."""
        if text.startswith(SESSION_PREFIX):
            return self._by_session(text)
        parts = rules.token_parts(text)
        known = self._by_token.get(parts[0]) if parts is not None else None
        if parts is None or known is None:
            return None
        account, token = known
        return account if compare_digest(rules.digest_of(parts[1]), token.digest) else None

    def _by_session(self, text: str) -> Account | None:
        try:
            return self.sessions.by_token(text)
        except DataFolderError:
            return None

    def by_secret(self, name: str, secret: str) -> Account | None:
        """The account of that name, or of that access key, if this is one of its secret keys, or one of its tokens."""
        owner = self.by_token(secret)
        if owner is not None:
            return owner if owner.name.lower() == name.lower() else None
        self.look()
        for access_key, (account, known) in self._by_key.items():
            is_named = name == access_key or name.lower() == account.name.lower()
            if is_named and compare_digest(known.encode(), secret.encode()):
                return account
        return None

    def look(self) -> str | None:
        """Why some cannot sign in here; None: all can. The key file may be there by now."""
        if self.trouble is not None and monotonic() - self._looked_s > LOOK_S:
            self._index()
        return self.trouble

    def by_id(self, id: str) -> Account | None:
        """Also one that is disabled."""
        return self._by_id.get(id)

    # For administrators.

    def list(self) -> list[Account]:
        """In the order of their names."""
        return sorted(self._by_id.values(), key=lambda account: account.name.lower())

    def named(self, name: str) -> Account:
        """Raises `NoSuchAccount`. Capital letters make no difference."""
        wanted = name.lower()
        for account in self._by_id.values():
            if account.name.lower() == wanted:
                return account
        raise NoSuchAccount(f"There is no account {name}.")

    async def add(
        self, name: str, *, admin: bool = False, password: str | None = None, only_first: bool = False
    ) -> NewKey:
        """Make an account with a key. The first is an administrator, and owns the queues that are there already.

        ``only_first``: for who may do so only as long as there is no account; raises `AccessDenied` if there is one.
        """
        rules.check_name(name)
        hashed = None if password is None else await self._hash(password)

        async def attempt(seen: int) -> NewKey:
            if only_first and self.exist:
                raise AccessDenied("Only an administrator may add accounts.")
            if any(known.name.lower() == name.lower() for known in self._by_id.values()):
                raise AccountExists(f"There is an account {name} already.")
            now = self._clock.now_us()
            id = self._new_id()
            key, secret = self._new_key(id, now)
            account = Account(
                id=id, name=name, created_us=now, admin=admin or not self.exist, keys=[key], password=hashed
            )
            await self._put(account, seen)
            return NewKey(account, key.access_key, secret)

        return await self._feed.write(_ACCOUNTS, attempt)

    async def set_password(self, name: str, password: str) -> Account:
        hashed = await self._hash(password)
        return await self._feed.write(
            _ACCOUNTS, lambda seen: self._put(replace(self.named(name), password=hashed), seen)
        )

    async def check_password(self, name: str, password: str) -> Account | None:
        """The account, if it is enabled and this is its password; else None, after about the same time."""
        try:
            account = self.named(name)
        except NoSuchAccount:
            account = None
        fits = await self._passwords.fits(account.password if account is not None else None, password)
        # It may have been disabled or removed meanwhile.
        now = self._by_id.get(account.id) if account is not None and fits else None
        return (
            now
            if now is not None and now.enabled and account is not None and now.password == account.password
            else None
        )

    async def rotate(self, name: str) -> NewKey:
        """Make a second key; both work until `finish_rotation`."""

        async def attempt(seen: int) -> NewKey:
            account = self.named(name)
            if len(account.keys) >= rules.MAX_KEYS:
                raise AccountConflict(
                    f"{account.name} has two keys already. Finish or cancel that rotation before you begin another."
                )
            key, secret = self._new_key(account.id, self._clock.now_us())
            account = await self._put(replace(account, keys=[*account.keys, key]), seen)
            return NewKey(account, key.access_key, secret)

        return await self._feed.write(_ACCOUNTS, attempt)

    async def finish_rotation(self, name: str, cancel: bool = False) -> tuple[Account, Key]:
        """Retire the old of two keys, or, to cancel, the new one; the account as it is now, and the retired key."""

        async def attempt(seen: int) -> tuple[Account, Key]:
            account = self.named(name)
            if len(account.keys) < rules.MAX_KEYS:
                raise AccountConflict(f"{account.name} has one key: there is no rotation to finish or to cancel.")
            retired = account.keys[-1 if cancel else 0]
            kept = [key for key in account.keys if key is not retired]
            return await self._put(replace(account, keys=kept), seen), retired

        return await self._feed.write(_ACCOUNTS, attempt)

    async def add_token(self, name: str, label: str) -> NewToken:
        """Make a token; it works until it is removed."""
        rules.check_label(label)

        async def attempt(seen: int) -> NewToken:
            account = self.named(name)
            if len(account.tokens) >= rules.MAX_TOKENS:
                raise AccountConflict(f"{account.name} has {rules.MAX_TOKENS} tokens already. Remove one first.")
            token, text = rules.new_token(self._clock.now_us(), label)
            account = await self._put(replace(account, tokens=[*account.tokens, token]), seen)
            return NewToken(account, token.id, text)

        return await self._feed.write(_ACCOUNTS, attempt)

    async def remove_token(self, name: str, id: str) -> Account:
        async def attempt(seen: int) -> Account:
            account = self.named(name)
            kept = [token for token in account.tokens if token.id != id]
            if len(kept) == len(account.tokens):
                raise NoSuchToken(f"{account.name} has no token {id}.")
            return await self._put(replace(account, tokens=kept), seen)

        return await self._feed.write(_ACCOUNTS, attempt)

    async def set_enabled(self, name: str, enabled: bool) -> Account:
        """Raises `AccountConflict` for the last administrator."""

        async def attempt(seen: int) -> Account:
            account = self.named(name)
            if not enabled:
                self._check_not_last(account, "disabled")
            return await self._put(replace(account, enabled=enabled), seen)

        return await self._feed.write(_ACCOUNTS, attempt)

    async def remove(self, name: str) -> Account:
        """Raises `AccountConflict` for the last administrator, and for one that owns queues or topics."""

        async def attempt(seen: int) -> Account:
            account = self.named(name)
            self._check_not_last(account, "removed")
            for kind, names in self._owned(account.id).items():
                if names:
                    more = f" and {len(names) - _TOLD:,} more" if len(names) > _TOLD else ""
                    raise AccountConflict(
                        f"{account.name} still owns {kind}: {', '.join(names[:_TOLD])}{more}. Delete them first."
                    )
            await ask(partial(self._records.drop_account, account.id, seen))
            return account

        return await self._feed.write(_ACCOUNTS, attempt)

    def _check_not_last(self, account: Account, what: str) -> None:
        others = [one for one in self._by_id.values() if one.admin and one.enabled and one.id != account.id]
        if not others:
            raise AccountConflict(
                f"{account.name} is the last administrator and cannot be {what}. Add or enable another one first."
            )

    async def _hash(self, password: str) -> str:
        rules.check_password(password)
        return await self._passwords.hash(password)

    async def _put(self, account: Account, seen: int) -> Account:
        await ask(partial(self._records.put_account, account, seen))
        return account

    def _index(self) -> None:
        """Raises `DataFolderError` at the start only: later, who cannot be known is refused."""
        trouble, self.trouble = self.trouble, None
        self._looked_s = monotonic()
        for account in self._by_id.values():
            for key in account.keys:
                if key.access_key not in self._secrets:
                    try:
                        self._secrets[key.access_key] = self._open(account, key)
                    except DataFolderError as error:
                        if not self._has_begun:
                            raise
                        self.trouble = str(error)
        if self.trouble not in (None, trouble):
            log.error("accounts cannot be used here: %s", self.trouble, extra={"event": "accounts-unreadable"})
        before = self._by_key
        self._by_key = {
            key.access_key: (account, self._secrets[key.access_key])
            for account in self._by_id.values()
            if account.enabled
            for key in account.keys
            if key.access_key in self._secrets
        }
        tokens = self._by_token
        self._by_token = {
            token.id: (account, token)
            for account in self._by_id.values()
            if account.enabled
            for token in account.tokens
        }
        kept = {key.access_key for account in self._by_id.values() for key in account.keys}
        self._secrets = {access_key: secret for access_key, secret in self._secrets.items() if access_key in kept}
        if self._by_id and not self.exist:
            self.exist = True
            self.on_lost(None)
            return
        lost = {account.id for key, (account, _) in before.items() if key not in self._by_key}
        lost |= {account.id for id, (account, _) in tokens.items() if id not in self._by_token}
        if lost:
            self.on_lost(lost)

    def _new_id(self) -> str:
        if not self.exist:
            return rules.FIRST_ID
        while (id := rules.new_id()) in self._by_id or id in self._former or id == rules.FIRST_ID:
            pass
        return id

    def _new_key(self, owner: str, now_us: int) -> tuple[Key, str]:
        access_key, secret = rules.new_access_key(), rules.new_secret()
        try:
            cipher = self._cipher_to_seal()
        except DataFolderError as error:
            raise ServiceUnavailable(f"The secret cannot be sealed: {error}.") from None
        return Key(access_key, cipher.seal(secret, rules.sealed_for(owner, access_key)), now_us), secret

    def _cipher_now(self) -> Cipher | None:
        if self._cipher is None:
            self._read = self._key.read()
            self._cipher = None if self._read is None else Cipher(self._read)
        return self._cipher

    def _cipher_of_sessions(self) -> Cipher:
        cipher = self._cipher_now()
        if cipher is None:
            raise self._missing()
        return cipher

    def _cipher_to_seal(self) -> Cipher:
        """What is sealed must open after a restart: under the key that is on disk, which opens all others."""
        key = self._key.read()
        if key is None and self.exist:
            raise self._missing()
        if key is not None and self.exist and key != self._read:
            raise DataFolderError(
                f"the key file {self._key.place} is another one than that which was read at the start; put that back"
            )
        self._read = self._made_key() if key is None else key
        self._cipher = Cipher(self._read)
        return self._cipher

    def _made_key(self) -> bytes:
        """Another front-end may make it at the same moment."""
        try:
            return self._key.create()
        except DataFolderError:
            key = self._key.read()
            if key is None:
                raise
            return key

    def _missing(self) -> DataFolderError:
        return DataFolderError(
            f"there are accounts, but the key file {self._key.place} that opens their secrets is missing; "
            "put it back from a backup, or copy it from another front-end of the same store"
        )

    def _open(self, account: Account, key: Key) -> str:
        cipher = self._cipher_now()
        if cipher is None:
            raise self._missing()
        try:
            return cipher.open(key.sealed, rules.sealed_for(account.id, key.access_key))
        except Unsealable:
            raise DataFolderError(
                f"the key file {self._key.place} does not open the secret of the account {account.name}; "
                "put the one back that was used with this data"
            ) from None
