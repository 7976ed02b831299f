"""`rockdove bench` against another server that speaks SQS."""

from collections.abc import Iterator

import pytest

from tests.support.bench import bench
from tests.support.moto import moto_server
from tests.support.server import ServerFactory

FEW = ("--senders", "2", "--receivers", "2", "--messages", "5", "--size", "100", "--visibility", "2")


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a moto server."""
    with moto_server(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


def test_it_is_measured_like_ours(moto: str) -> None:
    done = bench("bdqs", "--endpoint", moto, *FEW)
    assert done.code == 0, done.err
    row = done.row
    assert (row["sent"], row["deleted"], row["lost"], row["corrupt"]) == (10, 10, 0, 0)
    assert done.err == ""


def test_a_hint_it_does_not_know_is_left_out_and_said_once(moto: str) -> None:
    done = bench("bdqs", "--endpoint", moto, *FEW, "--queues", "3", "--order-hint", "3")
    assert done.code == 0, done.err
    assert done.err == f"{moto} does not know RockdoveOrderHint: it is left out there\n"
    assert done.row["lost"] == 0


def test_it_stands_beside_ours(moto: str, server: ServerFactory) -> None:
    ours = server.shared().endpoint
    done = bench("peers", ours, moto, *FEW, "--rounds", "1")
    assert done.code == 0, done.err
    assert [(row["endpoint"], row["sent"], row["lost"]) for row in done.document["rows"]] == [
        (ours, 10, 0),
        (moto, 10, 0),
    ]
