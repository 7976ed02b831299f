"""Requests on accounts that are not as they should be, in AWS JSON."""

import json

import pytest

from rockdove.core.errors import MalformedInput, MissingParameter
from rockdove.wire import awsjson
from rockdove.wire.account import AddAccount
from rockdove.wire.builder import build
from rockdove.wire.member import structure
from rockdove.wire.operation import OPERATIONS

ADD = OPERATIONS["AddAccount"]


@pytest.mark.parametrize("admin", [True, False])
def test_a_boolean_is_read(admin: bool) -> None:
    body = f'{{"AccountName": "ann", "Admin": {str(admin).lower()}}}'.encode()
    wanted = AddAccount(account_name="ann", admin=admin)
    assert awsjson.decode(ADD, body) == wanted
    # The way for what msgspec refuses gives the same.
    assert build(structure(AddAccount), json.loads(body)) == wanted


@pytest.mark.parametrize(("value", "token"), [('"true"', "STRING"), ("1", "NUMBER")])
def test_what_is_no_boolean_is_refused(value: str, token: str) -> None:
    with pytest.raises(MalformedInput, match=f"{token}_VALUE can not be converted to a Boolean"):
        awsjson.decode(ADD, b'{"AccountName": "ann", "Admin": %s}' % value.encode())


def test_a_boolean_does_not_hide_what_is_missing() -> None:
    with pytest.raises(MissingParameter, match="AccountName"):
        awsjson.decode(ADD, b'{"Admin": true}')
