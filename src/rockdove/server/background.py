"""What a service does unasked: expires messages, works on move tasks and publications, ends forgotten leases, lets
emptied physical queues go.

Of all processes of a service, the one that has the store does it.
"""

from rockdove.broker.admin import Admin
from rockdove.broker.context import Context
from rockdove.broker.departure import Departures
from rockdove.broker.feed import Feed
from rockdove.broker.lander import Lander
from rockdove.broker.leasekeeper import LeaseKeeper
from rockdove.broker.mover import Mover
from rockdove.broker.movetask import MoveTasks
from rockdove.broker.retention import Retention


class Background:
    """Runs from `start` to `close`."""

    def __init__(self, context: Context, feed: Feed, tasks: MoveTasks, lease_keep_s: float | None) -> None:
        self.retention = Retention(context)
        self.mover = Mover(context, tasks)
        self.lander = Lander(context)
        self.lease_keeper = LeaseKeeper(context, lease_keep_s)
        self.departures = Departures(context.directory, Admin(context, feed))

    def start(self) -> None:
        self.mover.start()
        self.lander.start()
        self.retention.start()
        self.lease_keeper.start()
        self.departures.start()

    async def close(self) -> None:
        await self.departures.close()
        await self.retention.close()
        await self.lease_keeper.close()
        await self.lander.close()
        await self.mover.close()
