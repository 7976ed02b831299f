"""The operations on accounts, as steps; the service takes them from administrators."""

from rockdove.client.step import Names, Steps, ask, tell
from rockdove.wire import account as shape


def add_account(
    names: Names, name: str, *, admin: bool = False, password: str | None = None
) -> Steps[shape.AddAccountResult]:
    """Make an account; gives its id and key. The secret is never told again."""
    request = shape.AddAccount(account_name=name, admin=admin or None, password=password)
    return (yield from ask(request, shape.AddAccountResult))


def sign_in(names: Names, name: str, password: str) -> Steps[shape.SignInResult]:
    """Show the password for the console; gives a session token, which `rockdove.client.Bearer` takes."""
    return (yield from ask(shape.SignIn(account_name=name, password=password), shape.SignInResult))


def renew_session(names: Names) -> Steps[shape.SignInResult]:
    """A session token for longer, by a client whose credentials are the one that is about to expire."""
    return (yield from ask(shape.RenewSession(), shape.SignInResult))


def list_accounts(names: Names) -> Steps[list[shape.ListedAccount]]:
    """All accounts, in the order of their names."""
    answer = yield from ask(shape.ListAccounts(), shape.ListAccountsResult)
    return answer.accounts


def set_account_password(names: Names, name: str, password: str) -> Steps[None]:
    """Give an account another password for the console."""
    yield from tell(shape.SetAccountPassword(account_name=name, password=password))


def rotate_account_key(names: Names, name: str) -> Steps[shape.RotateAccountKeyResult]:
    """Make a second key; both work until `finish_account_rotation`. The secret is never told again."""
    return (yield from ask(shape.RotateAccountKey(account_name=name), shape.RotateAccountKeyResult))


def finish_account_rotation(
    names: Names, name: str, *, cancel: bool = False
) -> Steps[shape.FinishAccountRotationResult]:
    """Retire the old of two keys, or, to cancel, the new one."""
    request = shape.FinishAccountRotation(account_name=name, cancel=cancel or None)
    return (yield from ask(request, shape.FinishAccountRotationResult))


def add_account_token(names: Names, name: str, *, label: str = "") -> Steps[shape.AddAccountTokenResult]:
    """Make an access token, for who cannot sign. It is never told again."""
    request = shape.AddAccountToken(account_name=name, label=label or None)
    return (yield from ask(request, shape.AddAccountTokenResult))


def remove_account_token(names: Names, name: str, token_id: str) -> Steps[None]:
    """Take a token away, by its id."""
    yield from tell(shape.RemoveAccountToken(account_name=name, token_id=token_id))


def set_account_state(names: Names, name: str, state: str) -> Steps[None]:
    """``enabled`` or ``disabled``: then its keys and its password are refused."""
    yield from tell(shape.SetAccountState(account_name=name, state=state))


def remove_account(names: Names, name: str) -> Steps[None]:
    """Remove an account that owns no queues."""
    yield from tell(shape.RemoveAccount(account_name=name))
