"""Workloads: drive a queue service as its users would, make things go wrong, and measure what comes of it."""

from rockdove.workload.error import WorkloadFailed
from rockdove.workload.interrupt import Interrupt
from rockdove.workload.measure import MeasuredRow, Times
from rockdove.workload.report import Report, report
from rockdove.workload.run import Plan, Result, Watcher, contest
from rockdove.workload.workload import Faults, Workload

__all__ = [
    "Faults",
    "Interrupt",
    "MeasuredRow",
    "Plan",
    "Report",
    "Result",
    "Times",
    "Watcher",
    "Workload",
    "WorkloadFailed",
    "contest",
    "report",
]
