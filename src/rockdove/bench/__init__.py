"""Workloads: drive a queue service as its users would, make things go wrong, and measure what comes of it."""

from rockdove.bench.error import WorkloadFailed
from rockdove.bench.interrupt import Interrupt
from rockdove.bench.measure import Row, Times
from rockdove.bench.report import Report, report
from rockdove.bench.run import Plan, Result, Watcher, contest
from rockdove.bench.workload import Faults, Workload

__all__ = [
    "Faults",
    "Interrupt",
    "Plan",
    "Report",
    "Result",
    "Row",
    "Times",
    "Watcher",
    "Workload",
    "WorkloadFailed",
    "contest",
    "report",
]
