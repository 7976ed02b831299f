"""``rockdove worker`` and ``rockdove autoscale`` as processes of their own."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from rockdove.client import Client
from rockdove.elastic.worker.report import read
from tests.support.kubernetes import kubeconfig
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.server import COMMAND, Server
from tests.unit.cli.outcome import Cli, buffered

DEADLINE_S = 140
SETTINGS = '{"periodS": 0.2, "minLoad": 1, "maxLoad": 3, "maxWorkers": 3, "safetyS": 0.3}'

NOT_VISIBLE = "ApproximateNumberOfMessagesNotVisible"

KUBERNETES = ["autoscale", "--provisioner", "kubernetes"]
WORKLOAD = ["--workload", "statefulset/jobs-worker"]


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.05)


def start(folder: Path, *words: str) -> Process:
    return Process([*COMMAND, *words], folder, words[0], environment=buffered())


def held(client: Client, queue: str) -> int:
    told = client.attributes(queue, ["All"])
    return sum(int(told[f"ApproximateNumberOfMessages{what}"]) for what in ("", "NotVisible"))


def ended(words: Sequence[str], cli: Cli) -> tuple[int, str]:
    outcome = cli(*words)
    return outcome.code, outcome.err


def test_a_worker_drains_when_it_is_told_to(shared: Server, client: Client, queue: str, tmp_path: Path) -> None:
    client.send_batch(queue, list("abc"))
    report = tmp_path / "report.json"
    words = ["--exec", "sh -c 'cat; sleep 0.2'", "--endpoint", shared.endpoint, "--report", str(report), "--json"]
    with start(tmp_path, "worker", queue, *words) as process:
        wait_until(lambda: held(client, queue) == 0, "messages are left")
        told, lives = read(report)
        assert told is not None
        assert lives
        assert process.stop(DEADLINE_S) == 0
    printed = process.out.read_text()
    assert sorted(printed[:3]) == list("abc")
    assert json.loads(printed[3:])["done"] == 3


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["worker", "{queue}"], 2, "say what is to be done: either --handler package.module:function or --exec CMD"),
        (["worker", "{queue}", "--exec", "true", "--handler", "a:b"], 2, "say what is to be done"),
        (["worker", "{queue}", "--handler", "nothing"], 2, "is named as package.module:function"),
        (["worker", "nobody", "--exec", "true"], 3, "there is no queue nobody"),
        (["autoscale", "{queue}", "--exec", "true"], 5, "is not elastic: say how many workers it may have"),
        (["autoscale", "{queue}", "--exec", "true", "--elastic", "{}", "--placing", "x"], 2, "--placing is energy or"),
        (["autoscale", "{queue}", "--exec", "true", "--elastic", "[]"], 2, "--elastic: Must be a JSON object"),
        (["autoscale", "{queue}", "--exec", "nothing-there"], 2, "there is no command nothing-there"),
        (["autoscale", "{queue}", "--exec", "true", "--calibration", "none.json"], 2, "--calibration: "),
        (["autoscale", "nobody", "--exec", "true"], 3, "there is no queue nobody"),
        (["autoscale", "{queue}"], 2, "say what is to be done: either --handler package.module:function or --exec CMD"),
        (["autoscale", "{queue}", "--provisioner", "x"], 2, "--provisioner is process, kubernetes or simulated, not"),
        (
            ["autoscale", "{queue}", "--exec", "true", "--workload", "x"],
            2,
            "--workload is for --provisioner kubernetes",
        ),
        ([*KUBERNETES, "{queue}"], 2, "say what is to be scaled: --workload statefulset/NAME or deployment/NAME"),
        ([*KUBERNETES, "{queue}", "--workload", "pod/x"], 2, "statefulset/NAME or deployment/NAME, not 'pod/x'"),
        (
            [*KUBERNETES, "{queue}", "--exec", "true"],
            2,
            "--exec does not go with --provisioner kubernetes: the workload",
        ),
        ([*KUBERNETES, "{queue}", "--handler", "a:b"], 2, "--handler does not go with --provisioner kubernetes"),
        ([*KUBERNETES, "{queue}", *WORKLOAD, "--kubeconfig", "none"], 5, "{queue} is not elastic"),
        ([*KUBERNETES, "{queue}", *WORKLOAD, "--kubeconfig", "none", "--elastic", "{}"], 1, "none does not say how to"),
    ],
)
def test_what_is_wrong_is_told(cli: Cli, queue: str, words: list[str], code: int, told: str) -> None:
    found, text = ended([word.replace("{queue}", queue) for word in words], cli)
    assert told.replace("{queue}", queue) in text
    assert found == code


def test_kubernetes_that_is_away_is_told(cli: Cli, queue: str, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    file = kubeconfig(tmp_path / "config", address)
    words = [*KUBERNETES, queue, *WORKLOAD, "--kubeconfig", str(file), "--elastic", "{}"]
    code, text = ended(words, cli)
    assert f"rockdove: Kubernetes cannot be reached at {address}: " in text
    assert code == 4


def test_without_the_extra_it_says_how_to_get_it(cli: Cli, queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("rockdove.elastic.provision.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "kubernetes.aio", None)
    code, text = ended([*KUBERNETES, queue, *WORKLOAD], cli)
    assert text == (
        "rockdove: workers on Kubernetes need its client; install it with: pip install 'rockdove[kubernetes]'\n"
    )
    assert code == 1


def living(folder: Path) -> list[int]:
    """The processes of workers that tell that they are there."""
    reports = [read(path) for path in folder.glob("*.json")]
    return [report.pid for report, lives in reports if report is not None and lives]


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Path]:
    """The folder of local workers; none of them is left."""
    folder = tmp_path / "workers"
    yield folder
    for pid in living(folder):
        os.kill(pid, signal.SIGKILL)


def test_workers_that_end_with_their_controller_finish_what_they_have(
    shared: Server, client: Client, queue: str, tmp_path: Path, workers: Path
) -> None:
    out = tmp_path / "out"
    words = [queue, "--exec", f"sh -c 'sleep 3; cat >> {out}'", "--endpoint", shared.endpoint, "--concurrency", "3"]
    words += ["--folder", str(workers), "--drain", "--elastic", '{"periodS": 0.2, "maxWorkers": 1}']
    client.send_batch(queue, ["a\n", "b\n", "c\n"])
    with start(tmp_path, "autoscale", *words) as controller:
        wait_until(lambda: int(client.attributes(queue, ["All"])[NOT_VISIBLE]) == 3, "they are not worked on")
        assert controller.stop(DEADLINE_S) == 0
        assert "killed" not in controller.err.read_text()
    assert sorted(out.read_text().split()) == ["a", "b", "c"]
    assert held(client, queue) == 0


def test_a_queue_grows_its_own_workers(
    shared: Server, client: Client, queue: str, tmp_path: Path, workers: Path
) -> None:
    """A controller is killed in the middle, and a worker; the next one goes on, and no message is lost."""
    out = tmp_path / "out"
    words = [queue, "--exec", f"sh -c 'sleep 0.1; cat >> {out}'", "--endpoint", shared.endpoint, "--json"]
    words += ["--folder", str(workers), "--visibility", "3"]
    first = start(tmp_path, "autoscale", *words, "--elastic", SETTINGS)
    with first:
        bodies = [f"{at}\n" for at in range(200)]
        for at in range(0, len(bodies), 10):
            client.send_batch(queue, bodies[at : at + 10])
        wait_until(lambda: len(client.physical_queues(queue)) == 3, "it has not grown")
        # A worker that has just been started does not tell yet that it is there.
        wait_until(lambda: bool(living(workers)), "no worker lives")
        first.kill()
    os.kill(living(workers)[0], signal.SIGKILL)
    with start(tmp_path, "autoscale", *words, "--drain") as second:
        wait_until(lambda: held(client, queue) == 0, "messages are left")
        wait_until(lambda: len(client.physical_queues(queue)) == 1, "it has not shrunk")
        assert second.stop(DEADLINE_S) == 0
    got = out.read_text().splitlines()
    assert set(got) == {body.strip() for body in bodies}
    rounds = [json.loads(line) for line in second.out.read_text().splitlines()]
    acts = [each["act"] for each in rounds[-1]["decisions"]]
    # Those of the first controller are among them.
    assert "add" in acts
    assert "remove" in acts
    assert not any(read(path)[1] for path in workers.glob("*.json"))
