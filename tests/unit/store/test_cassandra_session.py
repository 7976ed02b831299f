"""What an operator is told when Cassandra cannot be reached at all."""

import asyncio

import pytest

from rockdove.core.errors import DataFolderError
from rockdove.store.cassandra.address import Address
from rockdove.store.cassandra.session import Session


def test_a_host_that_has_no_address_is_told_from_one_that_is_down() -> None:
    async def scenario() -> None:
        address = Address(("nohost.invalid",), 9042, "x")
        await Session(address, asyncio.get_running_loop()).open()

    with pytest.raises(DataFolderError, match="no address is known for its hosts; check their names"):
        asyncio.run(scenario())
