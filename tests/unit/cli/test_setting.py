"""Settings: flags, then the environment, then rockdove.toml."""

import json
from pathlib import Path

import pytest

from rockdove.cli.setting import read
from rockdove.client import Client
from rockdove.server.setting import default_workers
from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.server import COMMAND
from tests.unit.cli.outcome import Cli


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked twice: these tests are about whom."""
    monkeypatch.setattr("rockdove.client.retry.Retry.pause_s", lambda *about: None)


def nowhere() -> str:
    return f"http://127.0.0.1:{free_port()}"


def test_flags_then_environment_then_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens on any of the three; the error names the one that was meant."""
    flag, environment, file = nowhere(), nowhere(), nowhere()
    (tmp_path / "rockdove.toml").write_text(f'endpoint = "{file}"\n')
    assert file in cli("queue", "list").err
    monkeypatch.setenv("ROCKDOVE_ENDPOINT", environment)
    assert environment in cli("queue", "list").err
    assert flag in cli("queue", "list", "--endpoint", flag).err


def test_another_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = nowhere(), nowhere()
    (tmp_path / "rockdove.toml").write_text(f'endpoint = "{here}"\n')
    other = tmp_path / "other.toml"
    other.write_text(f'endpoint = "{there}"\n')
    assert there in cli("queue", "list", "--config", str(other)).err
    monkeypatch.setenv("ROCKDOVE_CONFIG", str(other))
    assert there in cli("queue", "list").err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot = 1", "there is no setting 'prot'; those there are: host, port, data"),
        ('port = "9324"', "port must be a whole number, not '9324'"),
        ("port = true", "port must be a whole number, not True"),
        ("cool_down = 1", "cool_down must be true or false, not 1"),
        ("[serve]\nport = 1", "there is no setting 'serve'"),
        ("port = ", "is not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_wrong_file_is_a_usage_error_in_one_line(cli: Cli, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "rockdove.toml").write_text(text)
    outcome = cli("serve", "--port", "0")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("rockdove: rockdove.toml")
    assert told in outcome.err


def test_a_file_that_is_named_must_be_there(cli: Cli) -> None:
    outcome = cli("queue", "list", "--config", "missing.toml")
    assert (outcome.code, outcome.err) == (2, "rockdove: the settings file missing.toml does not exist\n")


def test_help_does_not_care_for_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rockdove.toml").write_text("nonsense")
    assert cli("serve", "--help").code == 0
    assert cli("version").code == 0


def test_a_folder_is_meant_from_where_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "conf" / "rockdove.toml"
    path.parent.mkdir()
    path.write_text('data = "messages"')
    assert read(path) == {"data": str(tmp_path / "conf" / "messages")}
    path.write_text('data = "/var/messages"')
    assert read(path) == {"data": "/var/messages"}


def test_the_service_takes_all_three(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "rockdove.toml").write_text('port = 1\nstore = "memory"\nregion = "eu-west-1"\ncool_down = false\n')
    environment = {**isolated(), "ROCKDOVE_PORT": "2", "ROCKDOVE_REGION": "eu-west-2"}
    command = [*COMMAND, "serve", "--json", "--port", str(port)]
    with Process(command, tmp_path, "serve", environment=environment) as process:
        process.wait_for(lambda: process.out.read_text().endswith("\n"), "ready line", 20)
        ready = json.loads(process.out.read_text())
        assert ready == {
            "ready": f"http://127.0.0.1:{port}",
            "data": None,
            "store": "memory",
            "workers": default_workers(),
        }
        with Client(ready["ready"]) as client:
            url = client.create_queue("q")
            assert client.attributes(url, ["QueueArn"]) == {"QueueArn": "arn:aws:sqs:eu-west-2:000000000000:q"}
            # No cool-down: the queue may be made again at once.
            client.delete_queue(url)
            client.create_queue("q")
        assert process.stop() == 0


@pytest.mark.parametrize("region", ["", "a:b", "us east", "-x", "x-", "12", "ü", "x\n", "x" * 64])
def test_what_is_no_region(cli: Cli, region: str) -> None:
    """ARNs that carry it could not be read again, and boto3 would not take it."""
    outcome = cli("serve", "--port", "0", "--region", region)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"rockdove: --region: {region!r} is no name of a region; it is letters, digits and hyphens\n"
