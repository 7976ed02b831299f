"""Bytes to requests and results back to bytes, in AWS JSON 1.0 and in AWS Query; no sockets, no queues."""
