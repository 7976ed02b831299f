"""Which queue stands for which topic."""

import re
from collections.abc import Iterable

# Without a mapping: the queue of this name.
PREFIX = "queues/"
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,80}(\.fifo)?")
_PLACE = re.compile(r"\{([0-9]+)\}")


class MappingError(ValueError):
    """A mapping that cannot be; the text says why."""


class Rule:
    """``FILTER=QUEUE``: the levels that ``+`` stands for are ``{1}``, ``{2}`` in the queue's name."""

    def __init__(self, text: str) -> None:
        topics, _, queue = text.rpartition("=")
        if not topics or not queue:
            raise MappingError(f"{text!r} is not TOPIC=QUEUE, such as devices/+/telemetry=telemetry")
        self._levels = topics.split("/")
        if any(("#" in level and level != "#") or ("+" in level and level != "+") for level in self._levels):
            raise MappingError(f"in {topics!r}, + and # must each be a whole level")
        if "#" in self._levels[:-1]:
            raise MappingError(f"in {topics!r}, # must be the last level")
        self._queue = queue
        places = {int(place) for place in _PLACE.findall(queue)}
        if places and not 1 <= min(places) <= max(places) <= self._levels.count("+"):
            raise MappingError(f"{queue!r} names a level that {topics!r} has no + for; the first + is {{1}}")
        if not _QUEUE.fullmatch(_PLACE.sub("x", queue)):
            raise MappingError(f"{queue!r} cannot be the name of a queue")

    def queue(self, topic: str) -> str | None:
        """None: the topic is none of these, or a level of it cannot be part of a queue's name."""
        levels, wanted = topic.split("/"), self._levels
        if wanted[-1] == "#":
            wanted = wanted[:-1]
            if len(levels) < len(wanted):
                return None
            levels = levels[: len(wanted)]
        if len(levels) != len(wanted) or (topic.startswith("$") and self._levels[0] in ("+", "#")):
            return None
        found: list[str] = []
        for level, one in zip(levels, wanted, strict=True):
            if one == "+":
                found.append(level)
            elif one != level:
                return None
        queue = _PLACE.sub(lambda match: found[int(match[1]) - 1], self._queue)
        return queue if _QUEUE.fullmatch(queue) else None


class Mapping:
    """The first rule that fits counts; without one, ``queues/NAME`` is the queue NAME."""

    def __init__(self, rules: Iterable[str] = ()) -> None:
        self._rules = [Rule(text) for text in rules]

    def queue(self, topic: str) -> str | None:
        for rule in self._rules:
            if (queue := rule.queue(topic)) is not None:
                return queue
        name = topic.removeprefix(PREFIX)
        return name if name != topic and _QUEUE.fullmatch(name) else None
