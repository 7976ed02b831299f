"""Starts and stops Cassandra nodes on this machine.

nodes.py start|stop NUMBER            nodes at 127.0.0.1 and on, which stay
nodes.py run NUMBER COMMAND...        other nodes at 127.0.9.1 and on, for as long as a command runs
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rockdove.workload.cassandra import MOST_NODES, CassandraNode, start_all
from rockdove.workload.error import WorkloadFailed

SETUP = Path(__file__).resolve().parents[2] / ".setup" / "cassandra"
JARS = SETUP / "lib"
# Nodes of a test run do not meet those of `make cassandra`.
TEST_NETWORK = "127.0.9"


def main(verb: str, number: int, command: list[str]) -> int:
    if verb == "start":
        nodes = [CassandraNode(at, SETUP / "run" / str(at), JARS, durable=True) for at in range(1, number + 1)]
        start_all(nodes)
        hosts = ",".join(node.address for node in nodes)
        print(f"Cassandra answers. Serve with: rockdove serve --store cassandra://{hosts}/rockdove", end="")
        print(f" --replication {number}" if number > 1 else "")
        return 0
    if verb == "stop":
        for at in range(number, 0, -1):
            CassandraNode(at, SETUP / "run" / str(at), JARS).stop()
        return 0
    # Nothing stays behind, however this ends.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="test-cassandra-"))
    nodes = [CassandraNode(at, folder / str(at), JARS, TEST_NETWORK) for at in range(1, number + 1)]
    try:
        start_all(nodes)
        return subprocess.run(command, env=os.environ | {"TEST_CASSANDRA": str(folder)}, check=False).returncode
    finally:
        for node in reversed(nodes):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("start", "stop", "run") or not 1 <= int(sys.argv[2]) <= MOST_NODES:
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
    except WorkloadFailed as failed:
        sys.exit(str(failed))
