"""``rockdove account remove``."""

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.confirmation import confirm
from rockdove.cli.output import Output
from rockdove.client import account


@place.with_place
def remove(
    name: place.Name,
    yes: option.Yes = False,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Remove an account that owns no queues. Its id is never used again.

    \b
    Example:
      rockdove account remove bob --data data --yes
    """
    confirm(f"Remove the account {name} for good?", yes)
    with reach() as there:
        there.run(account.remove_account(there.names, name))
    Output(as_json).outcome({"name": name, "removed": True}, f"removed {name}")
