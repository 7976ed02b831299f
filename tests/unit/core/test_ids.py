"""Names of messages and sequence numbers."""

import uuid

from rockdove.core import ids


def test_message_ids_are_uuids_that_differ_by_queue_and_sequence() -> None:
    first, second = ids.new_prefix(), ids.new_prefix()
    names = {
        ids.message_id(prefix, ids.entry_id(7, n)) for prefix in (first, second) for n in (0, 1, ids.SEQUENCE_MASK)
    }
    assert len(names) == 6
    assert all(uuid.UUID(name).version == 4 and uuid.UUID(name).variant == uuid.RFC_4122 for name in names)


def test_entry_ids_keep_their_parts() -> None:
    entry = ids.entry_id(ids.MAX_PHYSICAL_NUMBER, ids.SEQUENCE_MASK)
    assert entry == 2**63 - 1
    assert ids.physical_of(entry) == ids.MAX_PHYSICAL_NUMBER


def test_sequence_numbers_have_twenty_digits_and_grow() -> None:
    numbers = [ids.sequence_number(ids.entry_id(3, n)) for n in (0, 1, 10**9, ids.SEQUENCE_MASK)]
    assert numbers == sorted(numbers)
    assert {len(number) for number in numbers} == {20}
