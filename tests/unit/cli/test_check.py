"""What `rockdove check` says of accounts and of their key file; damaged pages are with the faults."""

from pathlib import Path

import pytest

from rockdove.core.errors import DataFolderError
from rockdove.store.common.keyfile import KEY_FILE, KeyFile
from rockdove.store.sqlite.folder import DATABASE, Folder
from tests.unit.cli.outcome import Cli

FOLDER = ("--data", "d")


@pytest.fixture
def key(cli: Cli) -> Path:
    """The key file of a folder with an account."""
    assert cli("account", "add", "ann", *FOLDER).code == 0
    return Path("d", KEY_FILE)


def test_a_folder_with_a_removed_account_is_sound(cli: Cli, key: Path) -> None:
    assert cli("account", "add", "bob", *FOLDER).code == 0
    assert cli("account", "remove", "bob", "--yes", *FOLDER).code == 0
    outcome = cli("check", *FOLDER)
    assert (outcome.code, outcome.out.partition(":")[0]) == (0, "sound")
    key.unlink()
    outcome = cli("check", *FOLDER)
    assert outcome.code == 1
    assert "without it the secrets of 1 accounts cannot be read" in outcome.out


def test_the_key_of_another_folder_is_found(cli: Cli, key: Path) -> None:
    key.unlink()
    KeyFile(key.parent).create()
    outcome = cli("check", *FOLDER)
    assert outcome.code == 1
    assert f"{KEY_FILE}: does not open the secret" in outcome.out
    assert "may not start" in outcome.out


def test_a_folder_in_place_of_the_key_is_found(cli: Cli, key: Path) -> None:
    key.unlink()
    key.mkdir()
    outcome = cli("check", *FOLDER)
    assert (outcome.code, outcome.err) == (1, "")
    assert "is no file" in outcome.out


def test_a_key_without_a_database_is_no_new_folder(key: Path) -> None:
    (key.parent / DATABASE).unlink()
    folder = Folder(key.parent)
    folder.take()
    with pytest.raises(DataFolderError, match=f"{DATABASE} is missing, but there were accounts: .*move the key file"):
        folder.connect()
    folder.release()
    assert not (key.parent / DATABASE).exists()
