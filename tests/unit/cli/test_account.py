"""The commands on accounts: offline on a data folder, and against a running service."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from rockdove.client import Client, Credentials
from rockdove.store.common.keyfile import KEY_FILE
from rockdove.store.sqlite.folder import DATABASE, Folder
from tests.support.environment import REGION, isolated
from tests.support.port import free_port
from tests.support.server import COMMAND, Server, ServerFactory
from tests.unit.cli.outcome import Cli

FOLDER = ("--data", "d")
PASSWORD = b"correct horse\n"


def added(cli: Cli, name: str, *flags: str) -> dict[str, str]:
    outcome = cli("account", "add", name, *(flags or FOLDER), "--json")
    assert (outcome.code, outcome.err) == (0, "")
    document: dict[str, str] = outcome.document
    return document


def listed(cli: Cli, *flags: str) -> list[dict[str, Any]]:
    outcome = cli("account", "list", *(flags or FOLDER), "--json")
    assert (outcome.code, outcome.err) == (0, "")
    accounts: list[dict[str, Any]] = outcome.document["accounts"]
    return accounts


# Offline.


def test_add_prints_exactly_what_a_script_needs(cli: Cli) -> None:
    made = added(cli, "ann")
    assert list(made) == ["account_id", "access_key", "secret_key"]
    assert made["account_id"] == "000000000000"
    assert re.fullmatch(r"RDAK[A-Z0-9]{16}", made["access_key"])
    assert re.fullmatch(r"[A-Za-z0-9]{40}", made["secret_key"])
    assert Path("d", KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_add_tells_people_that_this_is_the_only_time(cli: Cli) -> None:
    outcome = cli("account", "add", "ann", *FOLDER)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["account", "id", "access", "secret"]
    assert outcome.err == "keep the secret key now: it is not shown again\n"


def test_the_secret_is_nowhere_on_disk_and_never_shown_again(cli: Cli) -> None:
    made = added(cli, "ann")
    secret = made["secret_key"]
    for file in Path("d").iterdir():
        assert secret.encode() not in file.read_bytes()
    for arguments in (
        ("list",),
        ("list", "--json"),
        ("disable", "ann"),
        ("rotate", "ann"),
        ("rotate", "ann", "--finish"),
    ):
        outcome = cli("account", *arguments, *FOLDER)
        assert secret not in outcome.out + outcome.err


def test_list(cli: Cli) -> None:
    assert cli("account", "add", "bob", *FOLDER, "--password-stdin", stdin=PASSWORD).code == 0
    ann = added(cli, "ann", *FOLDER, "--admin")
    rows = cli("account", "list", *FOLDER).out.splitlines()
    assert [row.split()[:5] for row in rows[1:]] == [
        ["ann", ann["account_id"], "administrator", "enabled", "none"],
        ["bob", "000000000000", "administrator", "enabled", "set"],
    ]
    [first, _] = listed(cli)
    assert first.keys() == {"account_id", "name", "admin", "state", "has_password", "created", "keys", "tokens"}
    assert [key["access_key"] for key in first["keys"]] == [ann["access_key"]]


def test_a_list_of_nobody(cli: Cli) -> None:
    Path("d").mkdir()
    Folder(Path("d")).connect().close()
    outcome = cli("account", "list", *FOLDER)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == 'there are no accounts; add the first with "rockdove account add NAME"\n'
    assert listed(cli) == []


@pytest.mark.parametrize("ending", ["--finish", "--cancel"])
def test_rotate(cli: Cli, ending: str) -> None:
    old = added(cli, "ann")
    new = cli("account", "rotate", "ann", *FOLDER, "--json").document
    assert list(new) == ["account_id", "access_key", "secret_key", "old_access_key"]
    assert new["old_access_key"] == old["access_key"]
    refused = cli("account", "rotate", "ann", *FOLDER)
    assert refused.code == 5
    assert "--finish" in refused.err
    ended = cli("account", "rotate", "ann", *FOLDER, ending, "--json").document
    kept, gone = (new, old) if ending == "--finish" else (old, new)
    assert ended == {"access_key": kept["access_key"], "retired_access_key": gone["access_key"]}
    assert [key["access_key"] for key in listed(cli)[0]["keys"]] == [kept["access_key"]]
    assert cli("account", "rotate", "ann", *FOLDER, ending).code == 5
    assert cli("account", "rotate", "ann", *FOLDER, "--finish", "--cancel").code == 2


def test_disable_and_enable(cli: Cli) -> None:
    added(cli, "ann")
    added(cli, "bob")
    assert cli("account", "disable", "bob", *FOLDER).out == "bob is disabled\n"
    assert [account["state"] for account in listed(cli)] == ["enabled", "disabled"]
    assert cli("account", "enable", "bob", *FOLDER, "--json").document == {"name": "bob", "state": "enabled"}
    assert [account["state"] for account in listed(cli)] == ["enabled", "enabled"]


def test_the_last_administrator_stays(cli: Cli) -> None:
    added(cli, "ann")
    for arguments in (("disable", "ann"), ("remove", "ann", "--yes")):
        outcome = cli("account", *arguments, *FOLDER)
        assert (outcome.code, outcome.out) == (5, "")
        assert "last administrator" in outcome.err


def test_remove(cli: Cli) -> None:
    added(cli, "ann")
    added(cli, "bob")
    unsure = cli("account", "remove", "bob", *FOLDER)
    assert (unsure.code, len(listed(cli))) == (5, 2)
    assert cli("account", "remove", "bob", *FOLDER, "--yes").out == "removed bob\n"
    assert [account["name"] for account in listed(cli)] == ["ann"]


def test_whoever_owns_queues_stays(cli: Cli, server: ServerFactory, tmp_path: Path) -> None:
    own = server()
    with Client(own.endpoint) as client:
        client.create_queue("jobs")
    assert own.stop() == 0
    folder = ("--data", str(own.data))
    added(cli, "ann", *folder)
    added(cli, "bob", *folder, "--admin")
    outcome = cli("account", "remove", "ann", *folder, "--yes")
    assert outcome.code == 5
    assert "ann still owns queues: jobs" in outcome.err


def test_a_password_is_not_an_argument(cli: Cli) -> None:
    added(cli, "ann")
    assert cli("account", "password", "ann", "correct horse", *FOLDER).code == 2
    without = cli("account", "password", "ann", *FOLDER, stdin=PASSWORD)
    assert without.code == 2
    assert "--password-stdin" in without.err
    assert not listed(cli)[0]["has_password"]
    outcome = cli("account", "password", "ann", *FOLDER, "--password-stdin", stdin=PASSWORD)
    assert outcome.out == "ann has a new password\n"
    assert listed(cli)[0]["has_password"]


@pytest.mark.parametrize("stdin", [b"short\n", b"", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe"])
def test_bad_passwords(cli: Cli, stdin: bytes) -> None:
    added(cli, "ann")
    outcome = cli("account", "password", "ann", *FOLDER, "--password-stdin", stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert "short" not in outcome.err
    assert not listed(cli)[0]["has_password"]


def test_bad_and_taken_names(cli: Cli) -> None:
    assert cli("account", "add", "a b", *FOLDER).code == 2
    added(cli, "ann")
    taken = cli("account", "add", "Ann", *FOLDER)
    assert (taken.code, taken.out) == (5, "")
    for arguments in (("disable", "bob"), ("rotate", "bob"), ("remove", "bob", "--yes")):
        outcome = cli("account", *arguments, *FOLDER)
        assert outcome.code == 3
        assert "There is no account bob" in outcome.err


# Which place.


def test_a_store_by_its_url(cli: Cli) -> None:
    added(cli, "ann", "--store", "sqlite:d")
    assert listed(cli) == listed(cli, "--store", "sqlite:d")


@pytest.mark.parametrize("url", ["redis://s3cr3t@x", "redis:", "sqlite:", "sqlite", "memory", "d", ""])
def test_a_store_without_accounts(cli: Cli, url: str) -> None:
    outcome = cli("account", "list", "--store", url)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("rockdove: --store takes sqlite:DIR, or the URL of servers; ")
    assert outcome.err.count("\n") == 1
    assert "s3cr3t" not in outcome.err


def test_redis_servers_that_are_not_there(cli: Cli) -> None:
    outcome = cli("account", "list", "--store", f"redis://:s3cr3t@127.0.0.1:{free_port()}")
    assert (outcome.code, outcome.out) == (1, "")
    assert "no Redis server can be reached" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("rockdove: ")
    assert "s3cr3t" not in outcome.err


@pytest.mark.parametrize(
    "flags",
    [
        (*FOLDER, "--store", "sqlite:d"),
        (*FOLDER, "--endpoint", "http://127.0.0.1:1"),
        ("--store", "sqlite:d", "--endpoint", "http://127.0.0.1:1"),
    ],
)
def test_one_place_at_a_time(cli: Cli, flags: tuple[str, ...]) -> None:
    outcome = cli("account", "add", "ann", *flags)
    assert outcome.code == 2
    assert "give one of them" in outcome.err
    assert not Path("d").exists()


def test_a_folder_that_there_is_not(cli: Cli) -> None:
    outcome = cli("account", "list", *FOLDER)
    assert outcome.code == 3
    assert not Path("d").exists()


def test_the_services_settings_do_not_choose_the_place(
    cli: Cli, shared: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`data` in the file or the environment is the folder that the service holds."""
    Path("rockdove.toml").write_text('data = "d"\nstore = "memory"\n')
    monkeypatch.setenv("ROCKDOVE_DATA", "d")
    assert listed(cli, "--endpoint", shared.endpoint) == []
    assert cli("account", "list").code == 0
    assert not Path("d").exists()
    # The environment's endpoint, on the other hand, gives way to a folder.
    added(cli, "ann")


def test_no_service_is_4(cli: Cli) -> None:
    assert cli("account", "list", "--endpoint", "http://127.0.0.1:1").code == 4


# The folder's lock and the key file.


def test_a_folder_that_a_service_holds_is_refused(cli: Cli, server: ServerFactory) -> None:
    own = server()
    for arguments in (("add", "ann"), ("list",)):
        outcome = cli("account", *arguments, "--data", str(own.data))
        assert (outcome.code, outcome.out) == (5, "")
        assert f"in use by process {own.process.pid}" in outcome.err
        assert "--endpoint" in outcome.err
    assert not (own.data / KEY_FILE).exists()
    assert own.stop() == 0


def test_many_at_once_take_turns_or_are_refused(tmp_path: Path) -> None:
    command = [*COMMAND, "account", "add", "--data", str(tmp_path / "d"), "--json"]
    children = [
        subprocess.Popen([*command, f"name-{number}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=isolated())
        for number in range(6)
    ]
    outputs = [child.communicate(timeout=60) for child in children]
    made = [json.loads(out) for child, (out, _) in zip(children, outputs, strict=True) if child.returncode == 0]
    refused = [err.decode() for child, (_, err) in zip(children, outputs, strict=True) if child.returncode == 5]
    assert made
    assert len(made) + len(refused) == 6
    assert all("in use by process" in line for line in refused)
    assert [one["account_id"] for one in made].count("000000000000") == 1
    done = subprocess.run(
        [*COMMAND, "account", "list", "--data", str(tmp_path / "d"), "--json"],
        capture_output=True,
        env=isolated(),
        timeout=30,
        check=True,
    )
    kept = {account["account_id"] for account in json.loads(done.stdout)["accounts"]}
    assert kept == {one["account_id"] for one in made}


@pytest.mark.parametrize("fault", ["open", "missing", "damaged", "folder"])
def test_without_its_key_file_nothing_starts(cli: Cli, tmp_path: Path, fault: str) -> None:
    added(cli, "ann")
    key = Path("d", KEY_FILE)
    if fault == "open":
        key.chmod(0o644)
    elif fault == "missing":
        key.unlink()
    elif fault == "folder":
        key.unlink()
        key.mkdir()
    else:
        key.write_text("nonsense")
    said = {
        "open": "chmod 600",
        "missing": "put it back from a backup",
        "damaged": "is damaged",
        "folder": "is no file",
    }[fault]
    outcome = cli("account", "list", *FOLDER)
    assert (outcome.code, outcome.out) == (1, "")
    assert said in outcome.err
    command = [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path / "d")]
    run = subprocess.run(command, capture_output=True, text=True, env=isolated(), timeout=30)
    assert (run.returncode, run.stdout) == (1, "")
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["a b", "123456789012", "", "x" * 65])
def test_a_name_that_cannot_be_is_a_mistake_of_usage(cli: Cli, name: str) -> None:
    outcome = cli("account", "add", *FOLDER, "--", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert "The name of an account" in outcome.err


# A running service.


@pytest.fixture
def own(server: ServerFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A service of its own, which the commands find by themselves."""
    found = server()
    monkeypatch.setenv("ROCKDOVE_ENDPOINT", found.endpoint)
    yield found
    assert found.stop() == 0


def sign_as(made: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", made["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made["secret_key"])


def test_everything_through_a_service(cli: Cli, own: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    there = ("--endpoint", own.endpoint)
    with Client(own.endpoint) as client:
        client.create_queue("jobs")
    assert listed(cli, *there) == []
    ann = added(cli, "ann", *there)
    assert ann["account_id"] == "000000000000"
    sign_as(ann, monkeypatch)
    bob = added(cli, "bob", *there)
    assert [account["name"] for account in listed(cli, *there)] == ["ann", "bob"]
    assert cli("account", "password", "bob", "--password-stdin", stdin=PASSWORD).code == 0
    new = cli("account", "rotate", "bob", "--json").document
    assert new["old_access_key"] == bob["access_key"]
    assert cli("account", "rotate", "bob", "--finish").code == 0
    assert cli("account", "disable", "bob").code == 0
    [_, listed_bob] = listed(cli, *there)
    assert (listed_bob["state"], listed_bob["has_password"]) == ("disabled", True)
    assert [key["access_key"] for key in listed_bob["keys"]] == [new["access_key"]]
    assert cli("account", "remove", "ann", "--yes").code == 5
    assert cli("account", "remove", "bob", "--yes").code == 0
    assert cli("account", "remove", "bob", "--yes").code == 3
    # What was there before accounts were belongs to the first.
    assert "jobs" in cli("queue", "list").out


def test_accounts_are_there_after_a_kill(cli: Cli, own: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = added(cli, "ann", "--endpoint", own.endpoint)
    own.kill()
    own.start()
    sign_as(ann, monkeypatch)
    assert [account["name"] for account in listed(cli, "--endpoint", own.endpoint)] == ["ann"]


def test_boto3_can_use_the_key(cli: Cli, server: ServerFactory, tmp_path: Path) -> None:
    ann = added(cli, "ann")
    service = server(f"--data={tmp_path / 'd'}")
    sqs = boto3.client(
        "sqs",
        endpoint_url=service.endpoint,
        region_name=REGION,
        aws_access_key_id=ann["access_key"],
        aws_secret_access_key=ann["secret_key"],
    )
    url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
    assert url.endswith("/000000000000/jobs")
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "hello"
    sqs.close()
    assert service.stop() == 0


def test_a_backup_can_be_used(cli: Cli, own: Server, server: ServerFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = added(cli, "ann", "--endpoint", own.endpoint)
    outcome = cli("backup", "copy", "--data", str(own.data))
    assert outcome.code == 0
    assert KEY_FILE in outcome.err
    assert sorted(path.name for path in Path("copy").iterdir()) == sorted((DATABASE, KEY_FILE))
    assert Path("copy", KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert Path("copy", KEY_FILE).read_bytes() == (own.data / KEY_FILE).read_bytes()
    copy = server(f"--data={Path('copy').absolute()}")
    with Client(copy.endpoint, credentials=Credentials(ann["access_key"], ann["secret_key"])) as client:
        assert [account.account_name for account in client.list_accounts()] == ["ann"]
        client.create_queue("works")
    assert copy.stop() == 0
