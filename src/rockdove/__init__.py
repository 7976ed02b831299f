"""Rockdove: a self-hosted message queue service that speaks Amazon SQS."""

__version__ = "0.1.0"
