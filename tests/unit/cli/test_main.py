"""What all commands have in common: help, usage errors, exit codes, one line on standard error."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import apsw
import pytest

from rockdove import __version__
from rockdove.client import Client
from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.server import COMMAND, Server
from tests.unit.cli.outcome import Cli, buffered

COMMANDS = [
    ("serve",),
    *[("queue", name) for name in ("create", "list", "show", "set", "purge", "delete", "move")],
    *[("topic", name) for name in ("create", "list", "show", "set", "subscribe", "unsubscribe", "publish", "delete")],
    ("send",),
    ("receive",),
    ("worker",),
    ("autoscale",),
    *[("lease", name) for name in ("list", "ack", "release")],
    *[("gateway", name) for name in ("mqtt", "coap")],
    *[("account", name) for name in ("add", "list", "password", "rotate", "token", "disable", "enable", "remove")],
    ("console",),
    *[("bench", name) for name in ("bdqs", "peers", "fig4", "fig5", "fig6", "fig7", "fig8")],
    *[("bench", name) for name in ("rds", "elastic", "elastic3")],
    ("demo",),
    ("backup",),
    ("check",),
    ("analyse",),
    ("watch",),
    *[("net", name) for name in ("list", "show", "draw", "step", "export")],
    ("calibrate",),
    ("plan",),
    ("prepare",),
    ("simulate",),
    ("version",),
]
TALKING = [
    ("queue", "create", "q"),
    ("queue", "list"),
    ("queue", "show", "q"),
    ("queue", "set", "q", "DelaySeconds=1"),
    ("queue", "purge", "q", "--yes"),
    ("queue", "delete", "q", "--yes"),
    ("queue", "move", "q"),
    ("send", "q", "x"),
    ("send", "q", "-"),
    ("receive", "q"),
    ("receive", "q", "--peek"),
    ("receive", "q", "--follow"),
]
# Apart: an account on a server that tests share would lock the others out.
ON_ACCOUNTS = [
    ("account", "add", "ann"),
    ("account", "list"),
    ("account", "rotate", "ann"),
    ("account", "disable", "ann"),
    ("account", "enable", "ann"),
    ("account", "remove", "ann", "--yes"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(cli: Cli, command: tuple[str, ...]) -> None:
    outcome = cli(*command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Example" in outcome.out
    assert f"\n    rockdove {' '.join(command)}" in outcome.out
    assert "--json" in outcome.out


def test_without_a_command_there_is_help(cli: Cli) -> None:
    for arguments in ((), ("queue",)):
        outcome = cli(*arguments)
        assert outcome.code == 2
        assert "Commands:" in outcome.out


def test_all_commands_are_listed(cli: Cli) -> None:
    for group in ((), ("queue",), ("topic",), ("lease",), ("gateway",), ("account",), ("bench",), ("net",)):
        listed = cli(*group, "--help").out.partition("Commands:")[2]
        assert [line.split()[0] for line in listed.splitlines() if line.startswith("  ")] == [
            command[len(group)]
            for command in dict.fromkeys(c[: len(group) + 1] for c in COMMANDS if c[: len(group)] == group)
        ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("srve",), "No such command 'srve'. Did you mean 'serve'?"),
        (("serve", "--port", "x"), "Invalid value for '--port'"),
        (("serve", "--port", "70000"), "Invalid value for '--port'"),
        (("serve", "--store", "paper"), "--store: there is no store 'paper'; choose one of sqlite, sqlite:DIR, memory"),
        (("serve", "--store", "memory:x"), "--store: the store 'memory' has no place: write 'memory' alone"),
        (("serve", "--store", "sqlite:"), "--store: 'sqlite:' names no folder: write sqlite:DIR, or 'sqlite' alone"),
        (("queue", "show"), "Missing argument 'NAME'"),
        (("queue", "list", "--nonsense"), "No such option: --nonsense"),
        (("queue", "list", "--endpoint", "nonsense"), "the endpoint must look like http://127.0.0.1:9324"),
        (("receive", "q", "--follow", "--endpoint", "nonsense"), "the endpoint must look like http://127.0.0.1:9324"),
        (("receive", "q", "--wait", "21"), "Invalid value for '--wait'"),
        (("receive", "q", "--max", "0"), "Invalid value for '--max'"),
        (("receive", "q", "--peek", "--follow"), "--peek goes neither with --follow"),
        (("send", "q"), "give either BODY"),
        (("send", "q", "x", "--file", "f"), "give either BODY"),
        (("send", "q", "-", "--dedup-id", "1"), "one --dedup-id for many messages"),
        (("send", "q", "x", "--attribute", "novalue"), "'novalue' must have the form NAME=VALUE"),
        (("send", "q", "x", "--attribute", "a:Date=1"), "the type of attribute a must be String, Number, Binary"),
        (("send", "q", "x", "--attribute", "a:Binary=?"), "the value of attribute a must be base64"),
        (("queue", "create", "q", "--fifo"), "the name of a FIFO queue ends in .fifo: q.fifo"),
        (("queue", "create", "q", "-t", "a=1", "-t", "a=2"), "a is given twice"),
        (("queue", "move", "q", "--cancel", "--wait"), "--cancel goes with SOURCE alone"),
    ],
)
def test_usage_errors_are_one_line_and_2(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("rockdove: ")
    assert told in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", [*TALKING, *ON_ACCOUNTS], ids=" ".join)
def test_a_service_that_is_not_there_is_4(cli: Cli, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr("rockdove.client.retry.Retry.pause_s", lambda *about: None)
    outcome = cli(*command, "--endpoint", endpoint, "--json")
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err == (
        f"rockdove: cannot reach {endpoint}: Connection refused; "
        'start the service with "rockdove serve", or choose another endpoint\n'
    )


@pytest.mark.parametrize("command", [c for c in TALKING if "list" not in c and "create" not in c], ids=" ".join)
def test_a_queue_that_is_not_there_is_3(
    cli: Cli, command: tuple[str, ...], shared: Server, new_name: Callable[..., str]
) -> None:
    name = new_name()
    outcome = cli(*[name if word == "q" else word for word in command], "--json")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == (
        f"rockdove: there is no queue {name} at {shared.endpoint}; "
        '"rockdove queue list" shows the queues that there are\n'
    )


def test_a_reader_that_has_seen_enough_is_no_failure(shared: Server, client: Client, queue: str) -> None:
    """What was not printed is not deleted, even if that was asked for."""
    client.send_batch(queue, map(str, range(3)))
    program = " ".join([*COMMAND, "receive", queue, "--max", "3", "--delete", "--endpoint", shared.endpoint])
    done = subprocess.run(
        ["bash", "-c", f"exec {program} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        env=buffered(),
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(client.peek(queue)) == 3


def test_version(cli: Cli) -> None:
    found = cli("version", "--json").document
    assert found == {
        "rockdove": __version__,
        "python": sys.version.split()[0],
        "sqlite": apsw.sqlite_lib_version(),
        "uvloop": version("uvloop"),
    }
    for name, number in found.items():
        assert [name, number] in [line.split() for line in cli("version").out.splitlines()]
    assert cli("--version").out == f"rockdove {__version__}\n"


def test_a_defect_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*about: object) -> None:
        raise ZeroDivisionError("on\npurpose")

    monkeypatch.setattr("rockdove.client.Client.list_queues", broken)
    outcome = cli("queue", "list")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rockdove: unexpected ZeroDivisionError: on purpose; ")
    assert outcome.err.count("\n") == 1
    monkeypatch.setenv("ROCKDOVE_TRACEBACK", "1")
    assert "Traceback" in cli("queue", "list").err


def test_the_installed_program(tmp_path: Path) -> None:
    """Once as users call it: a process, its exit code, and no module of the server's for a client's command."""
    done = subprocess.run(
        [*COMMAND, "queue", "list", "--json", "--endpoint", f"http://127.0.0.1:{free_port()}"],
        capture_output=True,
        cwd=tmp_path,
        env=isolated(),
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    code = (
        "import json, sys; from rockdove.cli.main import run; code = run(['version', '--json']); "
        "print(json.dumps([code, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, env=isolated(), text=True)
    status, modules = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    slow = {"rockdove.server.service", "rockdove.client", "asyncio", "uvloop", "rich.console", "pydantic"}
    assert slow & set(modules) == set()


def test_nothing_is_done_where_its_outcome_could_not_be_told(shared: Server, client: Client, queue: str) -> None:
    client.send(queue, "a")
    done = subprocess.run(
        ["bash", "-c", '"$@" >&-', "bash", *COMMAND, "receive", queue, "--delete", "--endpoint", shared.endpoint],
        stderr=subprocess.PIPE,
        env=isolated(),
        text=True,
    )
    text = "rockdove: standard output is closed; send it to /dev/null if it is not wanted\n"
    assert (done.returncode, done.stderr) == (1, text)
    assert client.peek(queue)[0].body == "a"


def test_errors_never_go_to_standard_output(shared: Server) -> None:
    done = subprocess.run(
        ["bash", "-c", '"$@" 2>&-', "bash", *COMMAND, "queue", "show", "none", "--endpoint", shared.endpoint],
        stdout=subprocess.PIPE,
        env=isolated(),
        text=True,
    )
    assert (done.returncode, done.stdout) == (3, "")
