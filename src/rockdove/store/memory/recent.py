"""What was seen in the last five minutes, and is forgotten then."""

from collections import OrderedDict
from typing import Generic, TypeVar

Seen = TypeVar("Seen")


class Recent(Generic[Seen]):
    """Values by key, each kept for the same time from when it was put."""

    def __init__(self, keep_us: int) -> None:
        self._keep_us = keep_us
        # In the order of time, so that forgetting looks only at what is forgotten. A plain dict would find its first
        # key more and more slowly as keys before it go.
        self._seen: OrderedDict[str, tuple[int, Seen]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, key: str, now_us: int) -> Seen | None:
        found = self._seen.get(key)
        return found[1] if found is not None and abs(now_us - found[0]) < self._keep_us else None

    def put(self, key: str, seen: Seen, now_us: int) -> None:
        self._forget(now_us)
        self._seen[key] = (now_us, seen)
        self._seen.move_to_end(key)

    def drop(self, key: str) -> None:
        self._seen.pop(key, None)

    def state(self) -> list[tuple[str, int, Seen]]:
        return [(key, at_us, seen) for key, (at_us, seen) in self._seen.items()]

    def take_state(self, state: list[tuple[str, int, Seen]]) -> None:
        self._seen = OrderedDict((key, (at_us, seen)) for key, at_us, seen in state)

    def _forget(self, now_us: int) -> None:
        while self._seen:
            at_us, _ = next(iter(self._seen.values()))
            # Also what is of a time that has not come yet: the clock was set back.
            if abs(now_us - at_us) < self._keep_us:
                return
            self._seen.popitem(last=False)
