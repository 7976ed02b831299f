"""The one root of what can go wrong in a benchmark: no figure, and one text that says why."""

from __future__ import annotations


class BenchError(Exception):
    """There is no result; the text is for whoever ran the benchmark."""
