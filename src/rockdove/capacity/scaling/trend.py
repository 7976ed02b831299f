"""How fast messages come, and whether that grows, from what was counted round by round."""

from collections import deque
from collections.abc import Sequence

# What is older does not count.
WINDOW_S = 60.0
# The rate now is that of so long a time before.
NOW_S = 10.0


class Trend:
    """What comes may rise at once, and stay there: only what has grown in both halves of the window is said to grow."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        # The middle of a round, how long it was, and the rate.
        self._rounds: deque[tuple[float, float, float]] = deque()

    def count(self, from_s: float, to_s: float, messages: float) -> None:
        """So many came between these times."""
        if not to_s > from_s:
            return
        self._rounds.append(((from_s + to_s) / 2, to_s - from_s, messages / (to_s - from_s)))
        while self._rounds[0][0] < to_s - self._window_s:
            self._rounds.popleft()

    def at(self, now_s: float) -> tuple[float | None, float]:
        """Arrivals a second, now, and by how much they grow each second, or fall."""
        if not self._rounds:
            return None, 0.0
        rounds = list(self._rounds)
        last = [each for each in rounds if each[0] >= now_s - NOW_S] or rounds[-1:]
        middle_s, mean = _middle(last)
        half_s = now_s - self._window_s / 2
        before = _slope([each for each in rounds if each[0] < half_s])
        after = _slope([each for each in rounds if each[0] >= half_s])
        if before is None or after is None or before * after <= 0:
            return mean, 0.0
        growth = min(before, after, key=abs)
        return max(mean + growth * (now_s - middle_s), 0.0), growth


def _middle(rounds: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    whole = sum(weight for _, weight, _ in rounds)
    return (
        sum(weight * at_s for at_s, weight, _ in rounds) / whole,
        sum(weight * rate for _, weight, rate in rounds) / whole,
    )


def _slope(rounds: Sequence[tuple[float, float, float]]) -> float | None:
    """Of a straight line through them, by least squares."""
    if len(rounds) < 3:
        return None
    middle_s, mean = _middle(rounds)
    spread = sum(weight * (at_s - middle_s) ** 2 for at_s, weight, _ in rounds)
    both = sum(weight * (at_s - middle_s) * (rate - mean) for at_s, weight, rate in rounds)
    return both / spread if spread > 0 else None
