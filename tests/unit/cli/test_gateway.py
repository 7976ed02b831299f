"""``rockdove gateway``: what it says when it cannot start."""

from pathlib import Path

import pytest

from tests.support.certificate import Authority
from tests.unit.cli.outcome import Cli

KINDS = ["mqtt", "coap"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--map", "a/#/b=c"], "--map: in 'a/#/b', # must be the last level"),
        (["--map", "a/b+=c"], "--map: in 'a/b+', + and # must each be a whole level"),
        (["--map", "a"], "--map: 'a' is not TOPIC=QUEUE"),
        (["--map", "a/+=b-{2}"], "names a level that 'a/+' has no + for"),
        (["--map", "a=b c"], "'b c' cannot be the name of a queue"),
        (["--tls-cert", "x.pem"], "TLS needs both a certificate and its key"),
        (["--tls-cert", "x.pem", "--tls-key", "y.pem"], "the TLS certificate x.pem does not exist"),
        (["--endpoint", "ftp://127.0.0.1"], "ftp"),
        (["--host", "no such host"], "cannot listen on 'no such host'"),
        (["--port", "70000"], "less than or equal to 65535"),
    ],
)
def test_wrong_words(cli: Cli, kind: str, words: list[str], text: str) -> None:
    outcome = cli("gateway", kind, *words)
    assert outcome.code == 2
    assert text in outcome.err


@pytest.mark.parametrize("words", [["--commands", "a/#/b=c"], ["--max-connections", "0"]])
def test_wrong_words_of_mqtt(cli: Cli, words: list[str]) -> None:
    assert cli("gateway", "mqtt", *words).code == 2


def test_datagrams_where_others_could_reach_them(cli: Cli) -> None:
    outcome = cli("gateway", "coap", "--host", "0.0.0.0")
    assert outcome.code == 5
    assert "--tls-cert and --tls-key, or --insecure" in outcome.err


@pytest.mark.parametrize("kind", KINDS)
def test_whether_there_are_accounts_is_not_known(cli: Cli, kind: str, tmp_path: Path) -> None:
    """Where others can reach it, a gateway does not start before its service can be asked."""
    authority = Authority(tmp_path)
    authority.issue()
    tls = ["--tls-cert", str(authority.cert), "--tls-key", str(authority.key)]
    outcome = cli("gateway", kind, "--host", "0.0.0.0", "--port", "0", "--endpoint", "http://127.0.0.1:9", *tls)
    assert outcome.code == 4
    assert "cannot reach http://127.0.0.1:9" in outcome.err
