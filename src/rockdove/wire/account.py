"""The requests and results of the operations on accounts, which SQS does not have."""

from rockdove.wire.shape import Request, Result


class Hidden:
    """Mixed in where a password or a secret is: it must not end up in a log or a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class AddAccount(Hidden, Request, kw_only=True):
    account_name: str
    admin: bool | None = None
    # For the console.
    password: str | None = None


class AddAccountResult(Hidden, Result, kw_only=True):
    """The one time that the secret is told."""

    account_id: str
    access_key: str
    secret_key: str


class SignIn(Hidden, Request, kw_only=True):
    """With the password for the console. The one operation that nobody has to sign."""

    account_name: str
    password: str


class SignInResult(Hidden, Result, kw_only=True):
    """A session token works as a bearer token until it expires; `RenewSession` gives a later one."""

    account_id: str
    account_name: str
    admin: bool
    session_token: str
    # Seconds since the epoch.
    expires_timestamp: int


class RenewSession(Request, kw_only=True):
    """Sent with a session token that has not expired yet."""


class ListAccounts(Request, kw_only=True):
    pass


class AccountKey(Result, kw_only=True):
    access_key: str
    # Seconds since the epoch.
    created_timestamp: int


class AccountToken(Result, kw_only=True):
    token_id: str
    label: str
    # Seconds since the epoch.
    created_timestamp: int


class ListedAccount(Result, kw_only=True):
    account_id: str
    account_name: str
    admin: bool
    # "enabled" or "disabled".
    state: str
    has_password: bool
    created_timestamp: int
    # The newest last.
    keys: list[AccountKey]
    tokens: list[AccountToken] = []


class ListAccountsResult(Result, kw_only=True):
    accounts: list[ListedAccount]


class SetAccountPassword(Hidden, Request, kw_only=True):
    account_name: str
    password: str


class RotateAccountKey(Request, kw_only=True):
    """Make a second key beside the one that is there."""

    account_name: str


class RotateAccountKeyResult(Hidden, Result, kw_only=True):
    """The one time that the new secret is told."""

    account_id: str
    access_key: str
    secret_key: str
    old_access_key: str


class FinishAccountRotation(Request, kw_only=True):
    """Retire the old key, or, to cancel, the new one."""

    account_name: str
    cancel: bool | None = None


class FinishAccountRotationResult(Result, kw_only=True):
    access_key: str
    retired_access_key: str


class AddAccountToken(Request, kw_only=True):
    """Make a token, for who cannot sign."""

    account_name: str
    label: str | None = None


class AddAccountTokenResult(Hidden, Result, kw_only=True):
    """The one time that the token is told."""

    account_id: str
    token_id: str
    token: str


class RemoveAccountToken(Request, kw_only=True):
    account_name: str
    token_id: str


class SetAccountState(Request, kw_only=True):
    account_name: str
    # "enabled" or "disabled".
    state: str


class RemoveAccount(Request, kw_only=True):
    account_name: str
