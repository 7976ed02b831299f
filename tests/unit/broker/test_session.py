"""Session tokens, by a clock that tests move."""

import os

import pytest

from rockdove.broker.session import SESSION_S, TOKEN_S, Sessions
from rockdove.core.account import Account
from rockdove.core.cipher import KEY_BYTES, Cipher
from rockdove.core.clock import ManualClock
from rockdove.core.errors import InvalidClientTokenId

ACCOUNT = Account(id="123456789012", name="ann", created_us=0, password="hash")


class Desk:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.accounts = {ACCOUNT.id: ACCOUNT}
        self.cipher = Cipher(os.urandom(KEY_BYTES))
        self.sessions = Sessions(lambda: self.cipher, self.accounts.get, self.clock)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_token_works_for_a_quarter_of_an_hour(desk: Desk) -> None:
    token = desk.sessions.begin(ACCOUNT).token
    desk.clock.advance(TOKEN_S - 1)
    assert desk.sessions.by_token(token) == ACCOUNT
    desk.clock.advance(1)
    assert desk.sessions.by_token(token) is None
    with pytest.raises(InvalidClientTokenId):
        desk.sessions.renew(token)


def test_renewed_again_and_again_it_ends_after_a_day(desk: Desk) -> None:
    session = desk.sessions.begin(ACCOUNT)
    step_s = TOKEN_S - 1
    for _ in range(SESSION_S // step_s):
        desk.clock.advance(step_s)
        session = desk.sessions.renew(session.token)
    desk.clock.advance(SESSION_S % step_s)
    assert desk.sessions.by_token(session.token) is None


def test_what_another_key_has_sealed_is_no_token(desk: Desk) -> None:
    token = desk.sessions.begin(ACCOUNT).token
    desk.cipher = Cipher(os.urandom(KEY_BYTES))
    assert desk.sessions.by_token(token) is None


def test_what_the_key_has_sealed_for_others_is_no_token(desk: Desk) -> None:
    sealed = desk.cipher.seal("a secret", "123456789012/RDAK")
    assert desk.sessions.by_token("rs_" + sealed) is None


def test_a_session_does_not_show_its_token(desk: Desk) -> None:
    session = desk.sessions.begin(ACCOUNT)
    assert session.token not in repr(session)
