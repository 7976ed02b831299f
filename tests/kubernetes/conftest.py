"""A control plane with one node, and a real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rockdove.client import Client
from tests.kubernetes.shop import Shop
from tests.support.controlplane import ControlPlane
from tests.support.kubelet import Kubelet
from tests.support.server import ServerFactory


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def kubelet(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubelet]:
    kubelet = Kubelet(plane.admin, tmp_path_factory.mktemp("pods"))
    kubelet.start()
    yield kubelet
    kubelet.stop()


@pytest.fixture
def shop(plane: ControlPlane, kubelet: Kubelet, server: ServerFactory, tmp_path: Path) -> Iterator[Shop]:
    service = server.shared()
    with Client(service.endpoint) as client:
        shop = Shop(plane, kubelet, service, client, tmp_path)
        yield shop
        shop.remove()
        shop.close()
