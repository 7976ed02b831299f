"""Queues as tables that Spark reads, as streams and in batches."""
