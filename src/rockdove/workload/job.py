"""What a process of a workload is told to do."""

from msgspec import Struct

from rockdove.workload.journal import Partition
from rockdove.workload.workload import Workload


class Job(Struct, frozen=True, kw_only=True):
    """``process`` counts from 0; ``trace`` is the folder that its events go to.

    Senders and receivers are spread over the endpoints: front-ends of one service.
    """

    endpoints: list[str]
    region: str | None
    run: str
    workload: Workload
    places: list[Partition]
    process: int = 0
    trace: str | None = None
