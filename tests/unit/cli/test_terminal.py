"""What is different on a terminal: questions, details, and text that cannot steer it."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from rockdove.client import Client
from tests.support.environment import isolated
from tests.support.server import COMMAND, Server


def on_terminal(folder: Path, server: Server, *arguments: str, answer: str = "") -> tuple[int, str]:
    """The exit code and all that a terminal of 100 columns shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environment = {**isolated(), "ROCKDOVE_ENDPOINT": server.endpoint, "TERM": "xterm", "NO_COLOR": "1"}
    child = subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    try:
        # Linux reports an error once the last process has closed the terminal.
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        os.close(ours)
    return child.wait(), shown.decode().replace("\r\n", "\n")


def prompted(folder: Path, typed: str | tuple[str, str], *arguments: str) -> tuple[int, str]:
    """The exit code and what the terminal shows of a command that asks twice; each answer is typed once it is asked."""
    answers = list(typed) if isinstance(typed, tuple) else [typed, typed]
    ours, theirs = pty.openpty()
    # In a session of its own it has no /dev/tty, which may be that of who runs the tests, and asks on this one.
    child = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**isolated(), "TERM": "xterm", "NO_COLOR": "1"},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
            if answers and shown.endswith((b"ann: ", b"more: ")):
                os.write(ours, f"{answers.pop(0)}\n".encode())
    except OSError:
        os.close(ours)
    return child.wait(), shown.decode().replace("\r\n", "\n")


def test_a_question_is_asked(tmp_path: Path, shared: Server, client: Client, queue: str) -> None:
    client.send_batch(queue, "abc")
    code, shown = on_terminal(tmp_path, shared, "queue", "purge", queue, answer="n\n")
    assert code == 5
    assert f"Delete all 3 messages of {queue}? [y/N] " in shown
    assert shown.endswith("rockdove: nothing was changed\n")
    assert len(client.peek(queue)) == 3
    code, shown = on_terminal(tmp_path, shared, "queue", "purge", queue, answer="y\n")
    assert code == 0
    assert shown.endswith(f"purged {queue}: 3 messages\n")
    assert client.peek(queue) == []


def test_a_message_comes_with_what_there_is_to_know(tmp_path: Path, shared: Server, client: Client, queue: str) -> None:
    # A control character that SQS takes and terminals obey.
    sent = client.send(queue, "[red]body\x9b2J", attributes={"kind": "x", "raw": b"123"}, group_id="g")
    _, shown = on_terminal(tmp_path, shared, "receive", queue)
    heading, body, note = shown.splitlines()
    assert f"{sent.message_id}  group g  kind=x  raw=(3 bytes)" in heading
    assert body == "[red]body\\x9b2J"
    assert note == "visible again in 30 s; --delete takes messages off the queue"
    _, shown = on_terminal(tmp_path, shared, "receive", queue, "--peek")
    assert "  in-flight until 2" in shown


def test_json_is_spread_out_and_still_one_document(tmp_path: Path, shared: Server, client: Client, queue: str) -> None:
    client.send(queue, "x")
    _, shown = on_terminal(tmp_path, shared, "receive", queue, "--json")
    assert [message["Body"] for message in json.loads(shown)["Messages"]] == ["x"]
    assert shown.count("\n") > 5


def test_nothing_to_show_is_said(tmp_path: Path, shared: Server, queue: str) -> None:
    assert on_terminal(tmp_path, shared, "receive", queue) == (
        0,
        f"no message is visible in {queue}; --wait 20 waits for one\n",
    )
    assert on_terminal(tmp_path, shared, "receive", queue, "--peek") == (0, f"{queue} is empty\n")


def test_a_password_is_asked_for_and_not_shown(tmp_path: Path, shared: Server) -> None:
    folder = ("--data", str(tmp_path / "d"))
    assert on_terminal(tmp_path, shared, "account", "add", "ann", *folder)[0] == 0
    # Typed ahead, it would be shown by the terminal itself, before the prompt turns that off.
    code, shown = prompted(tmp_path, "correct horse", "account", "password", "ann", *folder)
    assert code == 0
    assert "New password of ann: " in shown
    assert "Once more: " in shown
    assert "correct horse" not in shown
    assert shown.endswith("ann has a new password\n")


def test_a_password_typed_differently_is_not_taken(tmp_path: Path, shared: Server) -> None:
    folder = ("--data", str(tmp_path / "d"))
    assert on_terminal(tmp_path, shared, "account", "add", "ann", *folder)[0] == 0
    code, shown = prompted(tmp_path, ("correct horse", "correct house"), "account", "password", "ann", *folder)
    assert code == 2
    assert shown.endswith("rockdove: the two passwords differ; nothing was changed\n")


def test_a_bench_shows_how_far_it_is(tmp_path: Path, shared: Server) -> None:
    load = ("--messages", "20", "--size", "10", "--send-delay", "0.01")
    code, shown = on_terminal(tmp_path, shared, "bench", "bdqs", *load)
    assert code == 0
    for bar in ("sent", "received"):
        assert re.search(rf"{bar} .* 60/60 +[\d,]+/s", shown)
    assert re.search(r"^messages sent +60$", shown, re.MULTILINE)
