"""Cassandra nodes of a benchmark: one that an earlier run has left is not taken for a new one."""

import socket
from pathlib import Path

import pytest

from rockdove.workload import WorkloadFailed
from rockdove.workload.cassandra import CassandraNode
from rockdove.workload.cassandra.settings import CQL_PORT


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    node = CassandraNode(1, tmp_path, tmp_path, "127.0.3")
    with socket.create_server((node.address, CQL_PORT)), pytest.raises(WorkloadFailed, match="another process listens"):
        node.begin()
