"""``rockdove account enable``."""

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.output import Output
from rockdove.client import account


@place.with_place
def enable(
    name: place.Name,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Let an account that was disabled in again.

    \b
    Example:
      rockdove account enable bob --data data
    """
    with reach() as there:
        there.run(account.set_account_state(there.names, name, "enabled"))
    Output(as_json).outcome({"name": name, "state": "enabled"}, f"{name} is enabled")
