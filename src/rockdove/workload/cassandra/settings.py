"""How a small Cassandra node for tests is set up: its cassandra.yaml, its logging and the flags of its JVM."""

import json
from pathlib import Path
from typing import Any

STORAGE_PORT = 7000
CQL_PORT = 9042
# Tokens that share the ring evenly among up to three nodes, so that a node joins without moving any data.
TOKENS = (-(1 << 63), -(1 << 63) // 3, (1 << 63) // 3)

_EXPORTS = (
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/com.sun.jmx.remote.security",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "jdk.attach/sun.tools.attach",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.unsupported/sun.misc",
)
_OPENS = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.compiler/com.sun.tools.javac",
    "jdk.management/com.sun.management.internal",
)
# What both the server and nodetool need on Java 17.
MODULE_FLAGS = (
    "-Djdk.attach.allowAttachSelf=true",
    *(flag for name in _EXPORTS for flag in ("--add-exports", f"{name}=ALL-UNNAMED")),
    *(flag for name in _OPENS for flag in ("--add-opens", f"{name}=ALL-UNNAMED")),
)
SERVER_FLAGS = (
    "-XX:+UseG1GC",
    "-XX:G1HeapRegionSize=4m",
    "-XX:MaxGCPauseMillis=300",
    "-XX:ParallelGCThreads=2",
    "-XX:ConcGCThreads=1",
    "-Xss256k",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:+PerfDisableSharedMem",
    "-Djava.net.preferIPv4Stack=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.eventLoopThreads=2",
    "-Dcassandra.libjemalloc=-",
    # A node of a test cluster need not wait for others that it does not know.
    "-Dcassandra.ring_delay_ms=5000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.shutdown_announce_in_ms=200",
    "-Dcassandra-foreground=yes",
    "-Dlogback.configurationFile=logback.xml",
)

_LOGGING = """<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>${cassandra.logdir}/system.log</file>
    <encoder><pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


def write_settings(folder: Path, number: int, address: str, seed: str, durable: bool) -> None:
    """Write what a node reads when it starts; nodes are counted from 1."""
    folder.mkdir(parents=True, exist_ok=True)
    # JSON is YAML.
    (folder / "cassandra.yaml").write_text(json.dumps(_settings(number, address, seed) | _LOG[durable], indent=2))
    (folder / "logback.xml").write_text(_LOGGING)


# By whether every write is on disk before it is answered. Without that it is quicker, and enough for most tests: a node
# that is killed may lose what came in the last second.
_LOG: dict[bool, dict[str, Any]] = {
    True: {"commitlog_sync": "batch"},
    False: {"commitlog_sync": "periodic", "commitlog_sync_period": "1000ms"},
}


def _settings(number: int, address: str, seed: str) -> dict[str, Any]:
    seeds = {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seed}]}
    return {
        "cluster_name": "rockdove-test",
        "num_tokens": 1,
        "initial_token": str(TOKENS[number - 1]),
        "auto_bootstrap": False,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "SimpleSnitch",
        "dynamic_snitch": False,
        "seed_provider": [seeds],
        "listen_address": address,
        "rpc_address": address,
        "storage_port": STORAGE_PORT,
        "native_transport_port": CQL_PORT,
        "authenticator": "AllowAllAuthenticator",
        "authorizer": "AllowAllAuthorizer",
        "crypto_provider": [{"class_name": "org.apache.cassandra.security.JREProvider"}],
        "storage_compatibility_mode": "NONE",
        "paxos_variant": "v2",
        "commitlog_segment_size": "32MiB",
        "commitlog_total_space": "512MiB",
        "commitlog_disk_access_mode": "legacy",
        "memtable": {"configurations": {"default": {"class_name": "TrieMemtable", "parameters": {"shards": "2"}}}},
        "memtable_allocation_type": "offheap_objects",
        "memtable_heap_space": "128MiB",
        "memtable_offheap_space": "128MiB",
        "memtable_flush_writers": 1,
        "sstable": {"selected_format": "bti"},
        "default_compaction": {
            "class_name": "UnifiedCompactionStrategy",
            "parameters": {"scaling_parameters": "T4", "target_sstable_size": "128MiB", "base_shard_count": "1"},
        },
        "concurrent_reads": 16,
        "concurrent_writes": 16,
        "concurrent_counter_writes": 4,
        "concurrent_compactors": 1,
        "compaction_throughput": "0MiB/s",
        "native_transport_max_threads": 32,
        "key_cache_size": "0MiB",
        "counter_cache_size": "0MiB",
        "file_cache_size": "64MiB",
        "auto_snapshot": False,
        "uuid_sstable_identifiers_enabled": True,
        "tombstone_warn_threshold": 1_000,
        "tombstone_failure_threshold": 100_000,
        "hinted_handoff_enabled": True,
        "max_hint_window": "3h",
        "read_request_timeout": "5s",
        "write_request_timeout": "3s",
        "cas_contention_timeout": "1800ms",
    }
