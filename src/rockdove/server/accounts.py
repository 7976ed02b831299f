"""The operations on accounts: who may, from a request to the broker, and from its outcome to the result."""

import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

from rockdove.broker.accounts import Accounts
from rockdove.core.account import Account
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import AccessDenied, InvalidParameterValue, NoSuchAccount
from rockdove.server.log import fields
from rockdove.wire import account as shape

T = TypeVar("T")
Work: TypeAlias = Coroutine[Any, Any, T]

log = logging.getLogger("rockdove")

ENABLED, DISABLED = "enabled", "disabled"


class Caller(Protocol):
    """Who asks."""

    account: str


class AccountOperations:
    """One method for each operation. The caller is None for who has the data folder itself at hand.

    Whether he may is decided when the method is called, the rest when its result is awaited: a request that the gate
    let pass because there was no account must not be looked at again once there is one, with the id that it then has.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def add_account(self, call: Caller | None, request: shape.AddAccount) -> Work[shape.AddAccountResult]:
        by = self._check(call)
        # Two who both found no account must not both become administrators.
        only_first = call is not None and not self._accounts.exist
        return _noted(by, request.account_name, "added", self._add(request, only_first))

    def list_accounts(self, call: Caller | None, request: shape.ListAccounts) -> Work[shape.ListAccountsResult]:
        self._check(call)
        return _ready(shape.ListAccountsResult(accounts=[_listed(account) for account in self._accounts.list()]))

    def set_account_password(self, call: Caller | None, request: shape.SetAccountPassword) -> Work[None]:
        name = request.account_name
        by = self._check(call, name)
        return _done(_noted(by, name, "password", self._accounts.set_password(name, request.password)))

    def rotate_account_key(
        self, call: Caller | None, request: shape.RotateAccountKey
    ) -> Work[shape.RotateAccountKeyResult]:
        by = self._check(call, request.account_name)
        return _noted(by, request.account_name, "key-added", self._rotate(request))

    def finish_account_rotation(
        self, call: Caller | None, request: shape.FinishAccountRotation
    ) -> Work[shape.FinishAccountRotationResult]:
        by = self._check(call, request.account_name)
        return _noted(by, request.account_name, "key-retired", self._finish(request))

    def add_account_token(
        self, call: Caller | None, request: shape.AddAccountToken
    ) -> Work[shape.AddAccountTokenResult]:
        by = self._check(call, request.account_name)
        return _noted(by, request.account_name, "token-added", self._add_token(request))

    def remove_account_token(self, call: Caller | None, request: shape.RemoveAccountToken) -> Work[None]:
        name = request.account_name
        by = self._check(call, name)
        return _done(_noted(by, name, "token-removed", self._accounts.remove_token(name, request.token_id)))

    def set_account_state(self, call: Caller | None, request: shape.SetAccountState) -> Work[None]:
        name = request.account_name
        by = self._check(call, name)
        if request.state not in (ENABLED, DISABLED):
            raise InvalidParameterValue(
                f"Value {request.state} for parameter State is invalid. Reason: Must be {ENABLED} or {DISABLED}."
            )
        return _done(_noted(by, name, request.state, self._accounts.set_enabled(name, request.state == ENABLED)))

    def remove_account(self, call: Caller | None, request: shape.RemoveAccount) -> Work[None]:
        name = request.account_name
        by = self._check(call, name)
        return _done(_noted(by, name, "removed", self._accounts.remove(name)))

    async def _add(self, request: shape.AddAccount, only_first: bool) -> shape.AddAccountResult:
        made = await self._accounts.add(
            request.account_name, admin=bool(request.admin), password=request.password, only_first=only_first
        )
        return shape.AddAccountResult(account_id=made.account.id, access_key=made.access_key, secret_key=made.secret)

    async def _rotate(self, request: shape.RotateAccountKey) -> shape.RotateAccountKeyResult:
        made = await self._accounts.rotate(request.account_name)
        return shape.RotateAccountKeyResult(
            account_id=made.account.id,
            access_key=made.access_key,
            secret_key=made.secret,
            old_access_key=made.account.keys[0].access_key,
        )

    async def _finish(self, request: shape.FinishAccountRotation) -> shape.FinishAccountRotationResult:
        account, retired = await self._accounts.finish_rotation(request.account_name, bool(request.cancel))
        return shape.FinishAccountRotationResult(
            access_key=account.keys[-1].access_key, retired_access_key=retired.access_key
        )

    async def _add_token(self, request: shape.AddAccountToken) -> shape.AddAccountTokenResult:
        made = await self._accounts.add_token(request.account_name, request.label or "")
        return shape.AddAccountTokenResult(account_id=made.account.id, token_id=made.id, token=made.text)

    def _check(self, call: Caller | None, name: str | None = None) -> str:
        """Who it is, for the log; nobody by name, if there is no account.

        Raises `AccessDenied`; without accounts, `NoSuchAccount` for a ``name``, and nothing else is protected.
        """
        if call is None:
            return ""
        if not self._accounts.exist:
            if name is not None:
                raise NoSuchAccount(f"There is no account {name}.")
            return ""
        caller = self._accounts.by_id(call.account)
        if caller is None or not (caller.admin and caller.enabled):
            raise AccessDenied("Only an administrator may look at accounts and change them.")
        return caller.name


async def _ready(result: T) -> T:
    return result


async def _noted(by: str, name: str, change: str, work: Awaitable[T]) -> T:
    """What was done to whom by whom; no key and no password."""
    result = await work
    log.info("an account has changed", extra=fields("account", account=name, change=change, by=by))
    return result


async def _done(work: Awaitable[object]) -> None:
    await work


def _listed(account: Account) -> shape.ListedAccount:
    return shape.ListedAccount(
        account_id=account.id,
        account_name=account.name,
        admin=account.admin,
        state=ENABLED if account.enabled else DISABLED,
        has_password=account.password is not None,
        created_timestamp=account.created_us // SECOND_US,
        keys=[
            shape.AccountKey(access_key=key.access_key, created_timestamp=key.created_us // SECOND_US)
            for key in account.keys
        ],
        tokens=[
            shape.AccountToken(token_id=token.id, label=token.label, created_timestamp=token.created_us // SECOND_US)
            for token in account.tokens
        ],
    )
