"""Queues as tables, and analysis of traces, on Spark. Needs ``rockdove[spark]``; importing this package does not."""

from rockdove.spark.registration import register

__all__ = ["register"]
