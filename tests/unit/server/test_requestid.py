"""Ids of requests."""

import uuid
from itertools import islice

from rockdove.server.requestid import request_ids


def test_they_are_random_uuids_and_each_is_another() -> None:
    made = [text.decode() for text in islice(request_ids(), 1_000)]
    assert len(set(made)) == 1_000
    assert {(str(uuid.UUID(text)) == text, uuid.UUID(text).version) for text in made} == {(True, 4)}
    # No number that counts up.
    assert len({text[-12:] for text in made}) == 1_000
