"""``rockdove account token``, on a folder that no service holds."""

import re

from tests.unit.cli.outcome import Cli

FOLDER = ("--data", "d")


def test_a_token_is_shown_once_and_removed(cli: Cli) -> None:
    assert cli("account", "add", "ann", *FOLDER).code == 0
    made = cli("account", "token", "ann", "--label", "greenhouse", *FOLDER, "--json").document
    assert re.fullmatch(rf"rd_{made['token_id']}_[A-Za-z0-9]{{32}}", made["token"])
    outcome = cli("account", "token", "ann", *FOLDER)
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["account", "token", "token"]
    assert outcome.err == "keep the token now: it is not shown again\n"
    listed = cli("account", "list", *FOLDER, "--json").out
    assert made["token_id"] in listed
    assert made["token"] not in listed
    outcome = cli("account", "token", "ann", "--remove", made["token_id"], *FOLDER)
    assert outcome.out == f"the token {made['token_id']} of ann is removed\n"
    assert cli("account", "token", "ann", "--remove", made["token_id"], *FOLDER).code == 3
    assert cli("account", "token", "bob", *FOLDER).code == 3
