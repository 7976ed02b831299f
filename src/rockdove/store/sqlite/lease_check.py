"""Whether leases and leased messages belong together, for who looks a data folder over.

A lease may name messages that are gone: whoever may delete still may. All else must fit.
"""

from collections.abc import Callable

import apsw

from rockdove.core.lease import ALL_SHARDS, LEASED_US

# Where something is wrong, and what.
Add = Callable[[str, str], None]

_TABLES = ("lease", "consumer", "stage", "published", "application")
_NAMED = "SELECT lease.queue AS queue, consumer, value AS id FROM lease, json_each(lease.ids)"
_LEASED_BY_NOBODY = f"""
SELECT pq, count(*) FROM entry JOIN physical ON number = pq
WHERE t = {LEASED_US} AND physical.queue IS NOT NULL
  AND (physical.queue, entry.id) NOT IN (SELECT queue, id FROM ({_NAMED}))
GROUP BY pq
"""
_NOT_HELD = f"""
SELECT consumer, count(*) FROM ({_NAMED}) AS named JOIN entry USING (id) JOIN physical ON number = pq
WHERE physical.queue = named.queue AND t <> {LEASED_US} GROUP BY named.queue, consumer
"""
_TWICE = f"SELECT count(*) FROM (SELECT id FROM ({_NAMED}) JOIN entry USING (id) GROUP BY id HAVING count(*) > 1)"
_OF_NOBODY = f"""
SELECT DISTINCT consumer FROM lease WHERE NOT EXISTS (
  SELECT 1 FROM consumer WHERE queue = lease.queue AND name = lease.consumer AND shard = {ALL_SHARDS}
)
"""
_ENDED = f"""
SELECT DISTINCT lease.consumer FROM lease JOIN consumer ON consumer.queue = lease.queue AND name = lease.consumer
WHERE consumer.shard IN (lease.shard, {ALL_SHARDS}) AND sequence <= ended
"""


def check_leases(db: apsw.Connection, add: Add) -> None:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not there.issuperset(_TABLES):
        # An older format, or a problem that was told already.
        return
    for table in _TABLES:
        lost = db.execute(f"SELECT count(*) FROM {table} WHERE queue NOT IN (SELECT uid FROM queue)").get
        if lost:
            add(f"table {table}", f"{lost:,} rows belong to a queue that is not there")
    for number, count in db.execute(_LEASED_BY_NOBODY):
        add("table entry", f"{count:,} messages in physical queue {number} are leased, and no lease names them")
    for consumer, count in db.execute(_NOT_HELD):
        add("table lease", f"{count:,} messages that {consumer} has leased can be received by others")
    if twice := db.execute(_TWICE).get:
        add("table lease", f"{twice:,} messages are in two leases")
    for (consumer,) in db.execute(_OF_NOBODY):
        add("table lease", f"{consumer} has leases, and is not in the table of consumers")
    for (consumer,) in db.execute(_ENDED):
        add("table lease", f"{consumer} has leases that have ended")
