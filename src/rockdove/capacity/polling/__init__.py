"""Dequeueing from many physical queues: the paper's model, run with the very policies that the service has."""
