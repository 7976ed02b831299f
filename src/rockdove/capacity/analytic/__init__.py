"""Queueing theory: what can be said without a simulation."""
