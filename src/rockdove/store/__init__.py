"""Stores: where messages and queues are kept."""
