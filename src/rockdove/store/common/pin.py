"""Entries that something is under way with, and how often; a `Counter` would call Python for each key that is new."""

from collections.abc import Iterable


class Pins(dict[int, int]):
    """By the entries' ids."""

    def add(self, ids: Iterable[int]) -> None:
        for id in ids:
            self[id] = self.get(id, 0) + 1

    def drop(self, ids: Iterable[int]) -> None:
        for id in ids:
            left = self.pop(id, 1) - 1
            if left:
                self[id] = left
