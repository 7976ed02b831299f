"""The queues of a workload: made before it, removed after it."""

from collections.abc import Callable, Mapping

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault, QueueDoesNotExist
from rockdove.workload.crowd import each
from rockdove.workload.journal import Partition
from rockdove.workload.workload import Workload

ORDER_HINT = "RockdoveOrderHint"
# Requests under way at the same time.
_AT_ONCE = 32

Say = Callable[[str], None]


class Ground:
    """Queues of names that begin with a prefix and the run's own, so that nobody else's are touched."""

    def __init__(self, client: AsyncClient, prefix: str, run: str, say: Say) -> None:
        self._client = client
        self._prefix = f"{prefix}-{run}"
        self._say = say
        self.places: list[Partition] = []

    async def make(self, workload: Workload, more: Mapping[str, str]) -> None:
        """``more`` attributes than the workload needs.

        Raises what the service refuses; `remove` then removes what was made before.
        """
        attributes = {"VisibilityTimeout": str(workload.visibility_s), **more}
        if workload.order_hint is not None:
            attributes |= await self._hint(attributes, workload.order_hint)

        async def create(number: int) -> None:
            name = f"{self._prefix}-{number}"
            url = await self._client.create_queue(name, attributes=attributes)
            self.places.append(Partition(number, name, url))

        await each(create, range(workload.queues), _AT_ONCE)
        self.places.sort(key=lambda place: place.number)

    async def _hint(self, attributes: dict[str, str], hint: str) -> dict[str, str]:
        """The attribute, if the service has it: one that does not refuses it, or takes it and forgets it."""
        wanted = {ORDER_HINT: hint}
        name = f"{self._prefix}-probe"
        try:
            url = await self._client.create_queue(name, attributes=attributes | wanted)
        except Fault as fault:
            if fault.status != 400 or await self._knows_hint(attributes):
                raise
        else:
            kept = await self._kept_hint(url)
            await self._client.delete_queue(url)
            if kept == hint:
                return wanted
        self._say(f"{self._client.endpoint} does not know {ORDER_HINT}: it is left out there")
        return {}

    async def _knows_hint(self, attributes: dict[str, str]) -> bool:
        """Whether it is the value that was refused."""
        try:
            url = await self._client.create_queue(f"{self._prefix}-probe", attributes=attributes | {ORDER_HINT: "1"})
        except Fault:
            return False
        await self._client.delete_queue(url)
        return True

    async def _kept_hint(self, url: str) -> str | None:
        try:
            return (await self._client.attributes(url, [ORDER_HINT])).get(ORDER_HINT)
        except Fault:
            return None

    async def remove(self) -> None:
        """What cannot be removed is told, and stays."""
        left: list[str] = []

        async def delete(place: Partition) -> None:
            try:
                await self._client.delete_queue(place.url)
            except QueueDoesNotExist:
                return
            except (Fault, Unreachable, UnexpectedAnswer):
                left.append(place.name)

        await each(delete, self.places, _AT_ONCE)
        if left:
            self._say(f"left at {self._client.endpoint}, where they could not be removed: {', '.join(sorted(left))}")
