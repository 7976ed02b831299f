"""Names: of messages, physical queues and sequence numbers."""

import secrets

# An entry id is (physical queue number << SEQUENCE_BITS) | sequence number. So ids of one physical queue are
# neighbours on disk, in the order of sending: appends stay local, and expiry and purge are range deletes.
SEQUENCE_BITS = 40
SEQUENCE_MASK = (1 << SEQUENCE_BITS) - 1
# An entry id has 63 bits: it is SQLite's row id.
MAX_PHYSICAL_NUMBER = (1 << (63 - SEQUENCE_BITS)) - 1


def entry_id(physical: int, sequence: int) -> int:
    return physical << SEQUENCE_BITS | sequence


def physical_of(entry: int) -> int:
    return entry >> SEQUENCE_BITS


def new_prefix() -> str:
    """Everything of a message's UUID but its last ten digits, which are the sequence number.

    80 random bits for each physical queue keep message ids unique without drawing a random number for each message.
    """
    digits = secrets.token_hex(10)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{secrets.token_hex(1)}"


def message_id(prefix: str, entry: int) -> str:
    return f"{prefix}{entry & SEQUENCE_MASK:010x}"


def sequence_number(entry: int) -> str:
    """SQS gives FIFO messages a 20-digit number that grows within a group, also over a purge: the number of a physical
    queue is larger than that of those it replaces."""
    return f"{1 << 63 | entry:020d}"
