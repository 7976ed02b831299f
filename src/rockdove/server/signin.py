"""The operations of signing in: a password gives a session token, and too many wrong ones a pause."""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from rockdove.broker.accounts import Accounts
from rockdove.broker.session import Session
from rockdove.core.account import MAX_NAME_LENGTH
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import (
    AccessDenied,
    DataFolderError,
    InvalidClientTokenId,
    RequestThrottled,
    ServiceUnavailable,
    UnsupportedOperation,
)
from rockdove.server.failures import Failures
from rockdove.server.seldom import Seldom
from rockdove.wire import account as shape

# So many wrong passwords for one account in so many seconds are too many.
MOST_WRONG = 5
WRONG_WINDOW_S = 300.0
# Passwords that are being checked or wait for that: each takes tens of milliseconds, and anybody may ask.
MOST_AT_ONCE = 32


def wrong_passwords() -> Failures:
    """Counts them by the account's name, whether there is such an account or not."""
    return Failures(most=MOST_WRONG, window_s=WRONG_WINDOW_S)


class Caller(Protocol):
    """Who asks."""

    @property
    def headers(self) -> dict[bytes, bytes]:
        """With their names in lower case."""


class SignIns:
    """One method for each operation."""

    def __init__(self, accounts: Accounts, wrong: Failures, catch_up: Callable[[], Awaitable[None]]) -> None:
        """``catch_up`` hears of all changes to accounts that others have made."""
        self._accounts = accounts
        self._catch_up = catch_up
        self._wrong = wrong
        self._seldom = Seldom()
        # How many passwords are being checked, by the account's name.
        self._checking: Counter[str] = Counter()

    async def sign_in(self, call: Caller, request: shape.SignIn) -> shape.SignInResult:
        if not self._accounts.exist:
            raise UnsupportedOperation("This service has no accounts: nobody has to sign in.")
        name = request.account_name.lower()
        wait_s = self._wrong.wait_s(name)
        if wait_s:
            raise RequestThrottled(f"Too many wrong passwords for this account. Try again in {_minutes(wait_s)}.")
        if self._checking[name] >= self._wrong.room(name) or self._checking.total() >= MOST_AT_ONCE:
            # Many guesses at once must not be more guesses than one after the other.
            raise RequestThrottled("Too many are signing in at this moment. Try again in a few seconds.")
        self._checking[name] += 1
        try:
            await self._catch_up()
            account = await self._accounts.check_password(name, request.password)
        finally:
            self._checking[name] -= 1
            if not self._checking[name]:
                del self._checking[name]
        if account is None:
            self._wrong.add(name)
            self._seldom.warn("wrong-password", "a wrong password", account=request.account_name[:MAX_NAME_LENGTH])
            fault = AccessDenied("The account name or the password is wrong.")
            # To look again would be another wrong password.
            fault.missed = False
            raise fault
        try:
            return _result(self._accounts.sessions.begin(account))
        except DataFolderError as error:
            raise ServiceUnavailable(f"Nobody can sign in now: {error}.") from None

    def renew_session(self, call: Caller, request: shape.RenewSession) -> Coroutine[Any, Any, shape.SignInResult]:
        scheme, _, token = call.headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer":
            raise InvalidClientTokenId("Only a session can be renewed: send its token as a bearer token.")
        return _ready(_result(self._accounts.sessions.renew(token.strip().decode("latin-1"))))


async def _ready(result: shape.SignInResult) -> shape.SignInResult:
    return result


def _result(session: Session) -> shape.SignInResult:
    account = session.account
    return shape.SignInResult(
        account_id=account.id,
        account_name=account.name,
        admin=account.admin,
        session_token=session.token,
        expires_timestamp=session.until_us // SECOND_US,
    )


def _minutes(seconds: float) -> str:
    minutes = int(-(-seconds // 60))
    return f"{minutes} minute{'s' * (minutes != 1)}"
