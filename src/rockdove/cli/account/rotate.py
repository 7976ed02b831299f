"""``rockdove account rotate``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.account.secret import show_key
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note
from rockdove.client import account


@place.with_place
def rotate(
    name: place.Name,
    finish: Annotated[bool, typer.Option("--finish", help="Retire the old key: only the new one works then.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Retire the new key: only the old one works then.")] = False,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Replace an account's key: make a second one, and, when everybody uses it, retire the first.

    Both keys work in between. The secret key is shown once.

    \b
    Examples:
      rockdove account rotate ann
      rockdove account rotate ann --finish
    """
    if finish and cancel:
        raise Failure("--finish and --cancel exclude each other; give one of them", Code.USAGE)
    output = Output(as_json)
    with reach() as there:
        if finish or cancel:
            _end(there, output, name, cancel)
        else:
            _begin(there, output, name)


def _begin(there: place.AccountPlace, output: Output, name: str) -> None:
    made = there.run(account.rotate_account_key(there.names, name))
    if output.as_json:
        output.document(
            {
                "account_id": made.account_id,
                "access_key": made.access_key,
                "secret_key": made.secret_key,
                "old_access_key": made.old_access_key,
            }
        )
        return
    show_key(output, name, made.account_id, made.access_key, made.secret_key)
    note(f'{made.old_access_key} works, too, until "rockdove account rotate {name} --finish"')


def _end(there: place.AccountPlace, output: Output, name: str, cancel: bool) -> None:
    ended = there.run(account.finish_account_rotation(there.names, name, cancel=cancel))
    if output.as_json:
        output.document({"access_key": ended.access_key, "retired_access_key": ended.retired_access_key})
    else:
        output.line(f"{name} has the key {ended.access_key}; {ended.retired_access_key} is retired")
