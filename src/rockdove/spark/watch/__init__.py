"""Continuous analysis: figures of queues in windows of time, while the trace is written."""
