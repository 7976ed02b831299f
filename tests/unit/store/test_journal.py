"""A journal on Cassandra whose answers do not come: what may have been added is never called refused."""

import asyncio
from typing import Any, cast

import pytest

from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.journal import Journal
from rockdove.store.cassandra.session import Away, Session


class Failing:
    """Adding an entry fails in one way, and asking what became of it in another."""

    def __init__(self, adding: StoreError) -> None:
        self._adding = adding

    def named(self, text: str) -> str:
        return text

    def token(self) -> str:
        return "me-1"

    async def ask_agreed(self, text: str, *values: Any) -> list[Any]:
        if text == schema.ADD_ENTRY:
            raise self._adding
        return []

    async def ask_serial(self, text: str, *values: Any) -> list[Any]:
        raise Away("too few nodes")


@pytest.mark.parametrize(
    ("adding", "told"), [(StoreInterrupted("no answer in time"), StoreInterrupted), (Away("too few nodes"), Away)]
)
def test_what_cannot_be_settled_may_have_been_done(adding: StoreError, told: type[StoreError]) -> None:
    journal = Journal("queue", cast(Session, Failing(adding)), lambda version, entry: None, lambda done: None, bytes)
    journal.is_loaded = True
    with pytest.raises(told):
        asyncio.run(journal.add(b"entry", 0))
