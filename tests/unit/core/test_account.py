"""Names, passwords, ids and keys of accounts."""

import re

import pytest

from rockdove.core import account
from rockdove.core.errors import InvalidParameterValue


@pytest.mark.parametrize("name", ["a", "Ann", "7of9", "ann.lee@example-1_x", "x" * account.MAX_NAME_LENGTH])
def test_good_names(name: str) -> None:
    account.check_name(name)


@pytest.mark.parametrize(
    "name", ["", " ", "ann lee", "-x", ".x", "@x", "ann\n", "ä", "a/b", "x" * (account.MAX_NAME_LENGTH + 1)]
)
def test_bad_names(name: str) -> None:
    with pytest.raises(InvalidParameterValue, match="1 to 64 letters"):
        account.check_name(name)


def test_a_name_is_no_account_id() -> None:
    with pytest.raises(InvalidParameterValue, match="account id"):
        account.check_name("123456789012")
    account.check_name("12345678901")


def test_passwords_have_a_length() -> None:
    account.check_password("x" * account.MIN_PASSWORD_LENGTH)
    account.check_password("x" * account.MAX_PASSWORD_LENGTH)
    for password in ("", "hunter2", "y" * (account.MAX_PASSWORD_LENGTH + 1)):
        with pytest.raises(InvalidParameterValue, match="8 to 1,024 characters") as caught:
            account.check_password(password)
        assert not password or password not in str(caught.value)


def test_what_is_drawn_looks_like_awss() -> None:
    assert re.fullmatch(r"\d{12}", account.new_id())
    assert re.fullmatch(r"RDAK[A-Z0-9]{16}", account.new_access_key())
    assert re.fullmatch(r"[A-Za-z0-9]{40}", account.new_secret())


def test_what_is_drawn_is_new() -> None:
    for draw in (account.new_access_key, account.new_secret):
        assert len({draw() for _ in range(1_000)}) == 1_000
