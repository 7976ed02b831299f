"""A real Cassandra for tests, started by `scripts/cassandra/nodes.py run`, with a keyspace for each process."""

import functools
import itertools
import os
from pathlib import Path

from cassandra.cluster import Cluster, Session

from rockdove.store.cassandra.address import Address
from rockdove.workload.cassandra import CassandraNode

JARS = Path(__file__).resolve().parents[2] / ".setup" / "cassandra" / "lib"
NETWORK = "127.0.9"


class Keyspace:
    """``name`` is the keyspace's; in it there is one store at a time."""

    def __init__(self, name: str) -> None:
        self.address = Address((f"{NETWORK}.1",), 9042, name)

    @property
    def url(self) -> str:
        return f"cassandra://{self.address}"

    def empty(self) -> None:
        """Whoever opens it next begins anew: all names begin with another one then."""
        session, keyspace = cluster_session(), self.address.keyspace
        made = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s AND table_name = 'identity'"
        if list(session.execute(made, (keyspace,))):
            session.execute(f"DELETE FROM {keyspace}.identity WHERE cell = 0 IF EXISTS")


@functools.cache
def cluster_session() -> Session:
    # To follow changes of tables it would draw random numbers at any time, which Hypothesis does not like.
    cluster = Cluster([f"{NETWORK}.1"], control_connection_timeout=30, schema_event_refresh_window=-1)
    return cluster.connect()


def node(number: int = 1) -> CassandraNode:
    """One of those that run."""
    return CassandraNode(number, Path(os.environ["TEST_CASSANDRA"]) / str(number), JARS, NETWORK)


def own_keyspace(kind: str) -> Keyspace:
    """Of this process alone."""
    return Keyspace(f"{kind}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")


_made = itertools.count()


def new_keyspace(kind: str) -> Keyspace:
    """Of this process alone, and of nobody else in it."""
    made = Keyspace(f"{own_keyspace(kind).address.keyspace}_{next(_made)}")
    made.empty()
    return made
