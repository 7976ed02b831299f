"""``rockdove account disable``."""

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.output import Output
from rockdove.client import account


@place.with_place
def disable(
    name: place.Name,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Refuse an account's keys and password until it is enabled again.

    Its queues and messages stay.

    \b
    Example:
      rockdove account disable bob --data data
    """
    with reach() as there:
        there.run(account.set_account_state(there.names, name, "disabled"))
    Output(as_json).outcome({"name": name, "state": "disabled"}, f"{name} is disabled")
