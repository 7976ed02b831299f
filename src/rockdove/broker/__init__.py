"""The queue operations: logical queues over physical ones."""
