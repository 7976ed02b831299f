"""The AWS SDK for JavaScript, run by Node.js, against a real server; the SDK compares MD5s itself."""

import json
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import isolated
from tests.support.server import COMMAND, ServerFactory

FOLDER = Path(__file__).with_name("javascript")
EMPTY = {"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0"}
_TIMEOUT_S = 120


@dataclass(frozen=True)
class Place:
    """A server, and the environment of who may use it."""

    endpoint: str
    environment: dict[str, str]


@pytest.fixture(scope="module", params=["any credentials", "an account's"])
def place(server: ServerFactory, request: pytest.FixtureRequest) -> Place:
    """With an account, so that what the SDK signs is checked; and without."""
    if request.param == "any credentials":
        return Place(server.shared().endpoint, isolated())
    own = server()
    command = [*COMMAND, "account", "add", "ann", "--endpoint", own.endpoint, "--json"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, env=isolated())
    key = json.loads(made.stdout)
    keys = {"AWS_ACCESS_KEY_ID": key["access_key"], "AWS_SECRET_ACCESS_KEY": key["secret_key"]}
    return Place(own.endpoint, isolated() | keys)


@pytest.fixture(scope="module")
def report(place: Place) -> dict[str, Any]:
    """What tour.js saw."""
    node = shutil.which("node")
    assert node is not None, "no node: `make test-clients` installs it, or names the command"
    assert (FOLDER / "node_modules").is_dir(), "no npm packages: `make test-clients` installs them"
    done = subprocess.run(
        [node, "tour.js", place.endpoint, f"js-{uuid.uuid4().hex[:12]}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env=place.environment,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_message_with_attributes_goes_there_and_back(report: dict[str, Any], place: Place) -> None:
    seen = report["message"]
    assert seen["url"].startswith(f"{place.endpoint}/000000000000/js-")
    assert seen["sentId"] == seen["receivedId"]
    assert seen["body"] == "grüße, 🕊"
    assert (seen["text"], seen["number"], seen["bytes"]) == ("v", "42", [0, 1, 254, 255])
    assert seen["receiveCounts"] == ["1", "2"]
    assert seen["left"] == EMPTY


def test_a_batch_succeeds_but_for_its_bad_entry(report: dict[str, Any]) -> None:
    seen = report["batch"]
    good = [number for number in range(10) if number != 3]
    assert seen["successful"] == [f"e{number}" for number in good]
    assert seen["failed"] == [{"Id": "e3", "Code": "InvalidParameterValue", "SenderFault": True}]
    assert seen["bodies"] == [f"body {number}" for number in good]
    assert seen["deleted"] == len(good)
    assert seen["left"] == EMPTY


def test_a_long_poll_is_answered_by_the_send(report: dict[str, Any]) -> None:
    seen = report["longPoll"]
    assert seen["bodies"] == ["wake up"]
    assert 600 < seen["waitedMs"] < 4000


def test_fifo_order_deduplication_and_sequence_numbers(report: dict[str, Any]) -> None:
    seen = report["fifo"]
    assert seen["bodies"] == ["one", "two", "three"]
    assert seen["groups"] == ["g", "g", "g"]
    assert seen["received"] == seen["sequence"][:3]
    assert seen["sequence"][3] == seen["sequence"][0]
    assert sorted(seen["received"], key=int) == seen["received"]


def test_the_list_is_paged(report: dict[str, Any]) -> None:
    seen = report["list"]
    assert [len(page) for page in seen["pages"]] == [2, 2, 1]
    assert [url for page in seen["pages"] for url in page] == seen["created"]
    assert seen["whole"] == seen["created"]


def test_purge(report: dict[str, Any]) -> None:
    assert report["purge"] == EMPTY


@pytest.mark.parametrize("case", ["missingQueue", "missingUrl"])
def test_a_missing_queue_is_the_typed_exception(report: dict[str, Any], case: str) -> None:
    error = report["errors"][case]
    assert error["isQueueDoesNotExist"]
    assert (error["name"], error["status"]) == ("QueueDoesNotExist", 400)
    assert error["message"].startswith("The specified queue does not exist")
    assert error["requestId"]


def test_a_bad_receipt_handle_is_the_typed_exception(report: dict[str, Any]) -> None:
    error = report["errors"]["badHandle"]
    assert error["isReceiptHandleIsInvalid"]
    assert (error["name"], error["status"]) == ("ReceiptHandleIsInvalid", 400)


def test_a_bad_value_is_a_service_exception(report: dict[str, Any]) -> None:
    error = report["errors"]["badCount"]
    assert error["isServiceException"]
    # It has no class in the model, so the SDK names it by the code in the x-amzn-query-error header.
    assert (error["name"], error["status"]) == ("InvalidParameterValue", 400)
    assert "MaxNumberOfMessages" in error["message"]
