"""``rockdove serve``: what it prints, and what it says when it cannot."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from rockdove import __version__
from rockdove.cli.announcement import known_host, url_of
from rockdove.cli.limit import shared
from rockdove.client import Client, Retry
from rockdove.server.limit import Limits
from rockdove.server.tls import Names
from rockdove.store.sqlite.folder import DATABASE, Folder
from tests.support.certificate import Authority
from tests.support.environment import isolated
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.raw import Web
from tests.support.server import COMMAND, Server, ServerFactory
from tests.unit.cli.outcome import Cli, buffered


def snippet(server: Server) -> str:
    """What is between the first three lines and the ready line."""
    lines = server.process.out.read_text().splitlines()
    return "\n".join(lines[3:-1])


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_it_says_where_data_lives_and_how_to_use_it_and_then_ready(server: ServerFactory, store: str) -> None:
    own = server(store=store)
    lines = own.process.out.read_text().splitlines()
    where = str(own.data) if store == "sqlite" else "in memory; nothing is kept when the service ends"
    assert lines[:2] == [f"Rockdove {__version__}", f"data: {where}"]
    assert lines[2].startswith("workers: ")
    assert lines[-1] == f"ready http://127.0.0.1:{own.port}"
    pasted = subprocess.run(
        [sys.executable, "-c", snippet(own)], capture_output=True, env=isolated(), text=True, timeout=60
    )
    assert (pasted.stdout, pasted.stderr) == ("Hello, world!\n", "")
    assert own.stop() == 0
    assert own.process.err.read_text() == ""


def test_a_port_in_use_is_told_with_what_to_do(cli: Cli, shared: Server) -> None:
    outcome = cli("serve", "--port", str(shared.port), "--data", "other")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"rockdove: port {shared.port} of 127.0.0.1 is in use; stop what listens there, or choose another with --port "
        "(0 takes any free one)\n"
    )


def test_a_start_that_fails_leaves_signals_as_they_were(cli: Cli, shared: Server) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    cli("serve", "--port", str(shared.port), "--data", "other")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_folder_in_use_is_refused_with_the_process(cli: Cli, shared: Server) -> None:
    outcome = cli("serve", "--port", "0", "--data", str(shared.data))
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err.count("\n") == 1
    assert f"process {shared.process.pid};" in outcome.err
    assert "--data" in outcome.err


def test_a_folder_that_is_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = cli("serve", "--port", "0", "--data", "file")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rockdove: cannot use the data folder file: ")


def test_a_folder_without_the_right_to_write(cli: Cli) -> None:
    """Not even root may write to the kernel's files."""
    outcome = cli("serve", "--port", "0", "--data", "/proc/rockdove")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("rockdove: cannot use the data folder /proc/rockdove: ")


@pytest.mark.parametrize("damage", ["newer", "junk", "foreign"])
def test_data_that_this_program_cannot_read(cli: Cli, tmp_path: Path, damage: str) -> None:
    folder = Folder(tmp_path / "data")
    folder.path.mkdir()
    if damage == "junk":
        folder.database.write_bytes(b"nonsense" * 1000)
    elif damage == "foreign":
        db = apsw.Connection(str(folder.database))
        db.execute("CREATE TABLE other (x)")
        db.close()
    else:
        db = folder.connect()
        db.pragma("user_version", 99)
        db.close()
    outcome = cli("serve", "--port", "0")
    assert (outcome.code, outcome.out) == (1, "")
    assert DATABASE in outcome.err
    assert outcome.err.count("\n") == 1


def test_for_a_store_in_memory_the_advice_is_another(cli: Cli) -> None:
    """No account can be added to what is not there yet."""
    outcome = cli("serve", "--port", "0", "--host", "0.0.0.0", "--store", "memory")
    assert outcome.code == 5
    assert "account add" not in outcome.err
    assert "use --host 127.0.0.1, or --store sqlite" in outcome.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused(cli: Cli, tmp_path: Path, host: str) -> None:
    outcome = cli("serve", "--port", "0", "--host", host)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err == (
        f"rockdove: will not listen on {host}: others could reach it there, and there are no accounts to keep them "
        'out; add one with "rockdove account add NAME --data data", or use --host 127.0.0.1\n'
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_so_it_is_with_data_that_has_no_accounts(cli: Cli, tmp_path: Path, store: str) -> None:
    folder = Folder(tmp_path / "data")
    folder.path.mkdir()
    folder.connect().close()
    outcome = cli("serve", "--port", "0", "--host", "192.0.2.1", "--store", store)
    assert (outcome.code, outcome.out) == (5, "")
    assert ("rockdove account add NAME --data data" in outcome.err) == (store == "sqlite")
    # And the folder is free again.
    folder.connect().close()


def test_an_address_that_does_not_exist(cli: Cli) -> None:
    outcome = cli("serve", "--port", "0", "--host", "no such host")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1


def test_addresses_are_written_as_urls_have_them() -> None:
    assert url_of("127.0.0.1", 1) == "http://127.0.0.1:1"
    assert url_of("::1", 9324) == "http://[::1]:9324"


def test_it_serves_on_when_nobody_reads_its_output(tmp_path: Path) -> None:
    port = free_port()
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "serve", "--store", "memory", "--port", str(port)]
    child = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, env=buffered())
    os.close(write)
    try:
        with Client(f"http://127.0.0.1:{port}", retry=Retry(attempts=100, max_s=0.2)) as client:
            assert client.create_queue("q")
    finally:
        child.terminate()
        _, err = child.communicate(timeout=10)
    assert (child.returncode, err) == (0, b"")


# TLS.


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path)
    made.issue()
    return made


def tls(authority: Authority) -> list[str]:
    return ["--port", "0", "--store", "memory", "--tls-cert", str(authority.cert), "--tls-key", str(authority.key)]


def damaged(authority: Authority, damage: str) -> None:
    now = datetime.now(UTC)
    match damage:
        case "no certificate":
            authority.cert.unlink()
        case "no key":
            authority.key.unlink()
        case "a folder":
            authority.key.unlink()
            authority.key.mkdir()
        case "a pipe":
            authority.key.unlink()
            os.mkfifo(authority.key)
        case "another key":
            old = authority.key.read_bytes()
            authority.issue()
            authority.key.write_bytes(old)
        case "expired":
            authority.issue(not_before=now - timedelta(days=2), not_after=now - timedelta(days=1))
        case "not yet":
            authority.issue(not_before=now + timedelta(days=1))
        case "encrypted":
            key = serialization.load_pem_private_key(authority.key.read_bytes(), None)
            secret = serialization.BestAvailableEncryption(b"secret")
            form = serialization.PrivateFormat.PKCS8
            authority.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, secret))
        case "no PEM":
            authority.cert.write_text("nonsense")
        case _:
            authority.key.write_text("nonsense")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("no certificate", r"the TLS certificate \S+cert.pem does not exist"),
        ("no key", r"the TLS key \S+key.pem does not exist"),
        ("a folder", r"cannot read the TLS key \S+key.pem: it is not a regular file"),
        ("a pipe", r"cannot read the TLS key \S+key.pem: it is not a regular file"),
        ("another key", r"the TLS key \S+key.pem is not the key of the certificate \S+cert.pem"),
        ("expired", r"the TLS certificate \S+cert.pem expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC; get a new one"),
        ("not yet", r"the TLS certificate \S+cert.pem is not valid before .*; is the clock right\?"),
        ("encrypted", r"the TLS key \S+key.pem is encrypted, .* openssl pkey -in \S+key.pem -out NEW"),
        ("no PEM", r"the TLS certificate \S+cert.pem is not a certificate in PEM form"),
        ("no PEM key", r"the TLS key \S+key.pem is not a private key in PEM form, or not one that TLS can use"),
    ],
)
def test_a_certificate_that_cannot_be_used(cli: Cli, authority: Authority, damage: str, told: str) -> None:
    damaged(authority, damage)
    outcome = cli("serve", *tls(authority))
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(f"rockdove: {told}\n", outcome.err), outcome.err


@pytest.mark.parametrize("flag", ["--tls-cert", "--tls-key"])
def test_one_half_of_tls(cli: Cli, authority: Authority, flag: str) -> None:
    outcome = cli("serve", flag, str(authority.cert))
    assert (outcome.code, outcome.err) == (
        2,
        "rockdove: TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE\n",
    )


@pytest.mark.parametrize("names", [(), ("queues.example.com", "localhost")])
def test_with_tls_it_says_https_and_how_to_use_it(
    server: ServerFactory, authority: Authority, names: tuple[str, ...]
) -> None:
    authority.issue(*names)
    own = server(*tls(authority)[4:], store="memory")
    assert own.process.out.read_text().splitlines()[-1] == f"ready https://127.0.0.1:{own.port}"
    pasted = subprocess.run(
        [sys.executable, "-c", snippet(own)],
        capture_output=True,
        cwd=authority.ca.parent,
        env=isolated(),
        text=True,
        timeout=60,
    )
    assert (pasted.stdout, pasted.stderr) == ("Hello, world!\n", "")
    assert own.stop() == 0


def test_the_snippet_for_a_certificate_that_signs_itself() -> None:
    names = Names(["queues.example.com"], self_signed=True)
    assert known_host("127.0.0.1", names) == "queues.example.com"
    assert known_host("127.0.0.1", None) == "127.0.0.1"
    assert known_host("127.0.0.1", Names(["*.example.com"], self_signed=True)) == "127.0.0.1"
    assert known_host("::1", Names(["localhost"], self_signed=True)) == "localhost"


def test_a_hangup_reads_the_certificate_anew(server: ServerFactory, authority: Authority) -> None:
    own = server(*tls(authority)[4:], "--log-level", "info", store="memory")

    def serial() -> int:
        context = authority.client()
        with (
            socket.create_connection(("127.0.0.1", own.port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            found = secure.getpeercert(binary_form=True)
            assert found is not None
            return x509.load_der_x509_certificate(found).serial_number

    def hang_up(said: str) -> None:
        os.kill(own.process.pid, signal.SIGHUP)
        own.process.wait_for(lambda: said in own.process.err.read_text(), said, 10)

    with Client(own.endpoint, tls=authority.client()) as client:
        url = client.create_queue("q")
        second = authority.issue().serial_number
        assert serial() != second
        hang_up("reloaded the TLS certificate")
        assert serial() == second
        authority.key.write_text("nonsense")
        hang_up("still using the old TLS certificate: the TLS key")
        assert serial() == second
        client.send(url, "still here")
    assert own.stop() == 0


def test_a_hangup_without_tls_is_no_reason_to_stop(server: ServerFactory) -> None:
    own = server("--log-level", "info", store="memory")
    os.kill(own.process.pid, signal.SIGHUP)
    own.process.wait_for(lambda: "nothing to reload" in own.process.err.read_text(), "line in the log", 10)
    assert own.stop() == 0


def test_a_hangup_at_any_moment_of_the_start(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--store", "memory", "--port", "0", "--log-level", "info"]
    with Process(command, tmp_path, "serve") as process:
        ready = False
        # From the first moment at which Python has begun to run the command.
        process.wait_for(lambda: _ignores_hangup(process.pid), "signals to be heeded", 20)
        while not ready:
            ready = "ready " in process.out.read_text()
            os.kill(process.pid, signal.SIGHUP)
        process.wait_for(lambda: "nothing to reload" in process.err.read_text(), "line in the log", 10)
        assert process.stop() == 0


def _ignores_hangup(pid: int) -> bool:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return any(int(status[name], 16) >> (signal.SIGHUP - 1) & 1 for name in ("SigIgn", "SigCgt"))


# Origins and limits.


@pytest.mark.parametrize("origin", ["nonsense", "null", "https://a.example/path"])
def test_what_is_no_origin(cli: Cli, origin: str) -> None:
    outcome = cli("serve", "--cors-origin", origin)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("rockdove: --cors-origin: ")


def test_all_origins_without_accounts_are_refused(cli: Cli) -> None:
    outcome = cli("serve", "--port", "0", "--store", "memory", "--cors-origin", "*")
    assert (outcome.code, outcome.out) == (5, "")
    assert "without accounts" in outcome.err


def test_origins_and_limits_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "rockdove.toml").write_text(
        'cors_origin = ["https://file.example"]\nmax_header_bytes = 1500\nheader_timeout_s = 7\nidle_timeout_s = 7.5\n'
    )
    environment = {**isolated(), "ROCKDOVE_CORS_ORIGIN": "https://a.example https://b.example"}
    command = [*COMMAND, "serve", "--store", "memory", "--port", "0", "--max-body-bytes", "2000", "--json"]
    for source in (environment, isolated()):
        with Process(command, tmp_path, "serve", environment=source) as process:
            process.wait_for(lambda: process.out.read_text().endswith("\n"), "ready line", 20)
            port = int(re.findall(r":(\d+)", process.out.read_text())[0])
            allowed = ["https://a.example", "https://b.example"] if source is environment else ["https://file.example"]
            for origin in ("https://a.example", "https://b.example", "https://file.example"):
                with closing(Web(port)) as web:
                    assert web.get("/health", {"Origin": origin}).status == (200 if origin in allowed else 403)
            with closing(Web(port)) as web:
                assert web.call("ListQueues", b" " * 2001).status == 413
            with closing(Web(port)) as web:
                assert web.get("/health", {"X-Long": "x" * 1600}).status == 431
            assert process.stop() == 0


def test_a_metrics_token_that_everybody_may_read(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef")
    file.chmod(0o644)
    outcome = cli("serve", "--port", "0", "--metrics-token-file", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        f"rockdove: the metrics token in {file} is open to all users of this machine (mode 0644); "
        f"close it with: chmod 600 {file}\n"
    )


def test_a_metrics_token_that_is_no_file(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "token"
    os.mkfifo(pipe, 0o600)
    outcome = cli("serve", "--port", "0", "--metrics-token-file", str(pipe))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"rockdove: cannot read the metrics token from {pipe}: it is not a regular file\n"


@pytest.mark.parametrize("text", ["", "short", "two words of some length", "0123456789abcdeä"])
def test_what_is_no_metrics_token(cli: Cli, tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o640)
    outcome = cli("serve", "--port", "0", "--metrics-token-file", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert "must hold one word of at least 16 ASCII characters" in outcome.err


def test_a_limit_out_of_range(cli: Cli) -> None:
    outcome = cli("serve", "--max-connections", "0")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--max-connections" in outcome.err


def test_fewer_files_than_connections(tmp_path: Path) -> None:
    command = ["bash", "-c", 'ulimit -n 300 && exec "$@"', "-", *COMMAND, "serve", "--store", "memory", "--port", "0"]
    with Process(command, tmp_path, "serve") as process:
        process.wait_for(lambda: "ready " in process.out.read_text(), "ready line", 20)
        told = "the limit of 300 open files leaves room for 100 connections, not 10000"
        assert told in process.err.read_text()
        assert "one address may have 70 connections, not 6000" in process.err.read_text()
        assert process.stop() == 0


@pytest.mark.parametrize(
    ("given", "effective"), [((10_000, 6_000), 6_000), ((100, 100), 70), ((100, 0), 0), ((1, 5), 1), ((100, 50), 50)]
)
def test_one_address_gets_a_share_of_the_connections(given: tuple[int, int], effective: int) -> None:
    limits = Limits(max_connections=given[0], max_connections_per_address=given[1])
    assert shared(limits).max_connections_per_address == effective
