"""Simulations as tasks of Spark: a grid of systems, many runs of each."""
