"""Services on a real Cassandra, each test with a store of its own."""

import pytest

from tests.support.cassandra import Keyspace, own_keyspace


@pytest.fixture
def keyspace() -> Keyspace:
    keyspace = own_keyspace("front")
    keyspace.empty()
    return keyspace
