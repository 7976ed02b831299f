"""The operations on leases, and publishing once."""

from rockdove.core.errors import UnsupportedOperation
from rockdove.server.call import Call
from rockdove.wire import lease as shape


class LeaseOperations:
    """One method for each operation."""

    async def lease_batch(self, call: Call, request: shape.LeaseBatch) -> shape.LeaseBatchResult:
        raise UnsupportedOperation("LeaseBatch is not there yet.")

    async def ack_through(self, call: Call, request: shape.AckThrough) -> shape.AckThroughResult:
        raise UnsupportedOperation("AckThrough is not there yet.")

    async def release_consumer(self, call: Call, request: shape.ReleaseConsumer) -> shape.ReleaseConsumerResult:
        raise UnsupportedOperation("ReleaseConsumer is not there yet.")

    async def list_leases(self, call: Call, request: shape.ListLeases) -> shape.ListLeasesResult:
        raise UnsupportedOperation("ListLeases is not there yet.")

    async def publish_once(self, call: Call, request: shape.PublishOnce) -> shape.PublishOnceResult:
        raise UnsupportedOperation("PublishOnce is not there yet.")
