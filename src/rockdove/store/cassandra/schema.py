"""The keyspace and its tables.

What front-ends must agree on is in journals: rows that are only ever written by lightweight transactions. All other
rows are written under a name that is never used again, and removed once. They carry timestamps of our own, which
count and do not tell the time, so no clock decides which write wins. What is removed is removed for good: its timestamp
is larger than all others, those of transactions included.
"""

KEYSPACE = (
    "CREATE KEYSPACE IF NOT EXISTS {keyspace}"
    " WITH replication = {{'class': 'NetworkTopologyStrategy', '{datacenter}': {copies}}}"
)

# Long enough for a node that was away to hear of what was removed: as long as others keep it for that node.
_GRACE_S = 10_800
_LAST = 1 << 62
# A message is kept for 14 days at most. What a front-end that dies leaves behind goes later than that.
_KEPT_S = 30 * 86_400
# Milliseconds after which a node that waits for another one's answer asks a third. Cassandra's default is how long the
# slowest hundredth takes, which grows with a node that is stopped: then the others wait for it, again and again.
_SPECULATE_MS = 50
_SMALL = (
    f"gc_grace_seconds = {_GRACE_S} AND compaction = {{{{'class': 'UnifiedCompactionStrategy'}}}}"
    f" AND speculative_retry = '{_SPECULATE_MS}ms'"
)

TABLES = {
    # A sequence of entries that all agree on. `closed`: entries before a snapshot are removed, and none may be added.
    # `tail`: the mark of the part's last entry.
    "journal": "CREATE TABLE IF NOT EXISTS {keyspace}.journal (name text, part bigint, version bigint,"
    " mark text, entry blob, closed boolean static, tail text static, PRIMARY KEY ((name, part), version))"
    f" WITH {_SMALL}",
    # What the entries through a version come to, in pieces.
    "snapshot": "CREATE TABLE IF NOT EXISTS {keyspace}.snapshot (name text, version bigint, piece int, data blob,"
    f" PRIMARY KEY ((name, version), piece)) WITH {_SMALL}",
    # The last snapshot of a journal that is whole.
    "latest": "CREATE TABLE IF NOT EXISTS {keyspace}.latest (name text PRIMARY KEY, version bigint, pieces int)"
    f" WITH {_SMALL}",
    # Numbers that are given out once.
    "number": f"CREATE TABLE IF NOT EXISTS {{keyspace}}.number (name text PRIMARY KEY, next bigint) WITH {_SMALL}",
    # Messages as they were sent; a block is filled by one front-end. Those of the index have a state.
    "body": "CREATE TABLE IF NOT EXISTS {keyspace}.body (queue text, block bigint, place int,"
    " body blob, md5 text, extra blob, sent_us bigint, state blob, PRIMARY KEY ((queue, block), place))"
    f" WITH {_SMALL}",
    "block": "CREATE TABLE IF NOT EXISTS {keyspace}.block (queue text, block bigint, made_us bigint,"
    f" PRIMARY KEY (queue, block)) WITH {_SMALL}",
    # The index of a physical queue: when its messages are visible. A segment is filled by one front-end.
    "entry": "CREATE TABLE IF NOT EXISTS {keyspace}.entry (queue text, segment bigint, visible_us bigint, id bigint,"
    f" turn int, PRIMARY KEY ((queue, segment), visible_us, id, turn)) WITH {_SMALL}"
    f" AND default_time_to_live = {_KEPT_S} AND read_repair = 'NONE'",
    # Its segments: from which time their messages are visible. `next` is the number of the next one, and is negative
    # once there are to be no more.
    "segment": "CREATE TABLE IF NOT EXISTS {keyspace}.segment (queue text, kind tinyint, from_us bigint, number bigint,"
    " owner text, made_us bigint, size int, until_us bigint, touched boolean, next bigint static,"
    f" PRIMARY KEY (queue, kind, from_us, number)) WITH {_SMALL}",
    # Below this there are no segments any more.
    "cursor": "CREATE TABLE IF NOT EXISTS {keyspace}.cursor (queue text, kind tinyint, low_us bigint,"
    f" PRIMARY KEY (queue, kind)) WITH {_SMALL}",
    # Front-ends that live, and where they hear of what the others do.
    "peer": "CREATE TABLE IF NOT EXISTS {keyspace}.peer (cell text, name text, address text, port int,"
    f" PRIMARY KEY (cell, name)) WITH {_SMALL}",
    # Queues of which there may be leases, or something that is published and has not landed.
    "note": "CREATE TABLE IF NOT EXISTS {keyspace}.note (kind text, queue text, PRIMARY KEY (kind, queue))"
    f" WITH {_SMALL}",
    # Who does what is done unasked.
    "duty": f"CREATE TABLE IF NOT EXISTS {{keyspace}}.duty (name text PRIMARY KEY, holder text) WITH {_SMALL}",
    # The name that all others begin with, and the key that receipt handles are signed with.
    "identity": "CREATE TABLE IF NOT EXISTS {keyspace}.identity (cell int PRIMARY KEY, space text, secret blob)"
    f" WITH {_SMALL}",
}

# Journals.
ADD_ENTRY = (
    "UPDATE journal SET mark = ?, entry = ?, tail = ? WHERE name = ? AND part = ? AND version = ?"
    " IF mark = NULL AND closed = NULL AND tail = ?"
)
# In place of one that was lost.
FILL_ENTRY = "UPDATE journal SET mark = ? WHERE name = ? AND part = ? AND version = ? IF mark = NULL AND closed = NULL"
READ_ENTRY = "SELECT mark, closed FROM journal WHERE name = ? AND part = ? AND version = ?"
READ_ENTRIES = "SELECT version, mark, entry FROM journal WHERE name = ? AND part = ? AND version > ? LIMIT ?"
READ_PARTS = "SELECT DISTINCT name, part, closed, tail FROM journal WHERE name = ? AND part IN ?"
# Nothing of it is left when both have gone.
CLOSE_PART = (
    "UPDATE journal USING TTL ? SET closed = true, tail = 'closed' WHERE name = ? AND part = ? IF closed = NULL"
)
LET_PART_GO = (
    "UPDATE journal USING TTL ? SET closed = true, tail = 'closed' WHERE name = ? AND part = ? IF closed = true"
)
DROP_ENTRIES = "DELETE FROM journal WHERE name = ? AND part = ? AND version >= 0"
ADD_PIECE = "INSERT INTO snapshot (name, version, piece, data) VALUES (?, ?, ?, ?) USING TIMESTAMP 1"
READ_PIECE = "SELECT data FROM snapshot WHERE name = ? AND version = ? AND piece = ?"
# Of all journals: only for those who have to find out which is the last one of theirs.
READ_SNAPSHOTS = (
    "SELECT DISTINCT name, version, token(name, version) FROM snapshot WHERE token(name, version) > ? LIMIT ?"
)
COUNT_PIECES = "SELECT COUNT(*) FROM snapshot WHERE name = ? AND version = ?"
DROP_SNAPSHOT = "DELETE FROM snapshot USING TIMESTAMP 2 WHERE name = ? AND version = ?"
# The larger version wins, whoever writes it when.
PUT_LATEST = "INSERT INTO latest (name, version, pieces) VALUES (?, ?, ?) USING TIMESTAMP ?"
READ_LATEST = "SELECT version, pieces FROM latest WHERE name = ?"
DROP_LATEST = "DELETE FROM latest USING TIMESTAMP ? WHERE name = ?"

# Numbers.
READ_NUMBER = "SELECT next FROM number WHERE name = ?"
FIRST_NUMBER = "INSERT INTO number (name, next) VALUES (?, ?) IF NOT EXISTS"
NEXT_NUMBER = "UPDATE number SET next = ? WHERE name = ? IF next = ?"

# Messages.
ADD_BODY = "INSERT INTO body (queue, block, place, body, md5, extra) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP 1"
READ_BODIES = "SELECT place, body, md5, extra FROM body WHERE queue = ? AND block = ? AND place IN ?"
DROP_BODY = f"DELETE FROM body USING TIMESTAMP {_LAST} WHERE queue = ? AND block = ? AND place = ?"
DROP_BLOCK = f"DELETE FROM body USING TIMESTAMP {_LAST} WHERE queue = ? AND block = ?"
ADD_BLOCK = "INSERT INTO block (queue, block, made_us) VALUES (?, ?, ?) USING TIMESTAMP 1"
READ_BLOCKS = "SELECT block, made_us FROM block WHERE queue = ? AND block > ? LIMIT ?"
FORGET_BLOCK = "DELETE FROM block USING TIMESTAMP 2 WHERE queue = ? AND block = ?"

# The index.
ADD_MESSAGE = (
    "INSERT INTO body (queue, block, place, body, md5, extra, sent_us, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    f" USING TIMESTAMP 1 AND TTL {_KEPT_S}"
)
READ_MESSAGES = "SELECT place, sent_us, state, body, md5, extra FROM body WHERE queue = ? AND block = ? AND place IN ?"
READ_STATES = "SELECT place, sent_us, state FROM body WHERE queue = ? AND block = ? AND place IN ?"
# The timestamp is 1 and the turn: the larger turn wins.
PUT_STATE = f"UPDATE body USING TIMESTAMP ? AND TTL {_KEPT_S} SET state = ? WHERE queue = ? AND block = ? AND place = ?"
ADD_SPOT = "INSERT INTO entry (queue, segment, visible_us, id, turn) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP 1"
DROP_SPOT = (
    f"DELETE FROM entry USING TIMESTAMP {_LAST}"
    " WHERE queue = ? AND segment = ? AND visible_us = ? AND id = ? AND turn = ?"
)
READ_SEGMENT = "SELECT visible_us, id, turn FROM entry WHERE queue = ? AND segment = ? AND visible_us >= ?"
IS_SEGMENT_USED = "SELECT id FROM entry WHERE queue = ? AND segment = ? LIMIT 1"
DROP_SEGMENT = f"DELETE FROM entry USING TIMESTAMP {_LAST} WHERE queue = ? AND segment = ?"
TAKE_SEGMENT_NUMBER = "UPDATE segment SET next = ? WHERE queue = ? IF next = ?"
OPEN_SEGMENT = "INSERT INTO segment (queue, kind, from_us, number, owner, made_us) VALUES (?, ?, ?, ?, ?, ?)"
READ_SEGMENT_NUMBER = "SELECT DISTINCT next FROM segment WHERE queue = ?"
READ_SEGMENTS = (
    "SELECT from_us, number, owner, made_us, size, until_us, touched FROM segment"
    " WHERE queue = ? AND kind = ? AND (from_us, number) > (?, ?) AND (from_us, number) <= (?, ?) LIMIT ?"
)
END_SEGMENT = (
    "UPDATE segment USING TIMESTAMP 1 SET size = ?, until_us = ?"
    " WHERE queue = ? AND kind = ? AND from_us = ? AND number = ?"
)
TOUCH_SEGMENT = (
    "UPDATE segment USING TIMESTAMP 1 SET touched = true WHERE queue = ? AND kind = ? AND from_us = ? AND number = ?"
)
FORGET_SEGMENT = (
    f"DELETE FROM segment USING TIMESTAMP {_LAST} WHERE queue = ? AND kind = ? AND from_us = ? AND number = ?"
)
# The larger wins, whoever writes it when.
PUT_CURSOR = "INSERT INTO cursor (queue, kind, low_us) VALUES (?, ?, ?) USING TIMESTAMP ?"
READ_CURSOR = "SELECT low_us FROM cursor WHERE queue = ? AND kind = ?"
FORGET_CURSOR = f"DELETE FROM cursor USING TIMESTAMP {_LAST} WHERE queue = ?"

# Notes.
ADD_NOTE = "INSERT INTO note (kind, queue) VALUES (?, ?)"
READ_NOTES = "SELECT queue FROM note WHERE kind = ?"
DROP_NOTE = "DELETE FROM note WHERE kind = ? AND queue = ?"

# Front-ends.
BEAT = "INSERT INTO peer (cell, name, address, port) VALUES (?, ?, ?, ?) USING TTL ?"
READ_PEERS = "SELECT name, address, port FROM peer WHERE cell = ?"
TAKE_DUTY = "INSERT INTO duty (name, holder) VALUES (?, ?) IF NOT EXISTS USING TTL ?"
KEEP_DUTY = "UPDATE duty USING TTL ? SET holder = ? WHERE name = ? IF holder = ?"
LEAVE_DUTY = "DELETE FROM duty WHERE name = ? IF holder = ?"
FOUND = "INSERT INTO identity (cell, space, secret) VALUES (0, ?, ?) IF NOT EXISTS"
READ_IDENTITY = "SELECT space, secret FROM identity WHERE cell = 0"
READ_CLOCK = "SELECT toUnixTimestamp(now()) FROM system.local"

# All that are prepared when the store is opened.
STATEMENTS = tuple(
    text
    for name, text in dict(globals()).items()
    if name.isupper() and isinstance(text, str) and not name.startswith("_") and name != "KEYSPACE"
)
