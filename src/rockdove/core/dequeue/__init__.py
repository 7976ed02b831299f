"""Dequeue policies: which physical queues a receive visits, and in which order.

A policy is a small pure object over a read-only view of the physical queues, so that the broker and a simulator can run
the very same one.
"""

from rockdove.core.dequeue.base import DequeuePolicy, View
from rockdove.core.dequeue.wake import Wake

__all__ = ["DequeuePolicy", "View", "Wake"]
