"""Dequeue policies: which physical queues a receive visits, in which order, and what it does when it finds nothing.

A policy is a small pure object over a read-only view of the physical queues, so that the broker and a simulator can run
the very same one.
"""

from rockdove.core.dequeue.base import DequeuePolicy, Plan, Sleep, View
from rockdove.core.dequeue.choice import PolicyChoice, PolicyName
from rockdove.core.dequeue.conventional import Conventional
from rockdove.core.dequeue.pms import Pms
from rockdove.core.dequeue.rds import Rds
from rockdove.core.dequeue.wake import Wake

__all__ = [
    "Conventional",
    "DequeuePolicy",
    "Plan",
    "Pms",
    "PolicyChoice",
    "PolicyName",
    "Rds",
    "Sleep",
    "View",
    "Wake",
]
