"""Cassandra nodes on this machine, for workloads and tests."""

from rockdove.workload.cassandra.node import MOST_NODES, CassandraNode, start_all

__all__ = ["MOST_NODES", "CassandraNode", "start_all"]
