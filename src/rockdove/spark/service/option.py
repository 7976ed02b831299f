"""Options of a source or a sink: text by name, checked, with messages that name the option."""

from collections.abc import Iterable, Mapping
from typing import Final

from rockdove.core.errors import RockdoveError

# What Spark itself puts among the options, and reads there.
_OF_SPARK: Final = frozenset({"path", "checkpointlocation", "queryname", "outputmode"})
# What it puts there for a table of its catalog, whose options it then forgets.
_OF_TABLE: Final = "provider"
_MAX_LABEL: Final = 256


class BadOption(RockdoveError):
    """An option is missing, unknown or has a value that is none."""


class Options:
    """Reads options whatever the case of their names, as Spark does. An empty value counts as none."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in given.items() if value != ""}

    def refuse_unknown(self, known: Iterable[str]) -> None:
        if _OF_TABLE in self._given:
            raise BadOption(
                "a queue cannot be a table of Spark's catalog, which does not hand on the options: "
                "use CREATE TEMPORARY VIEW, or save() in place of saveAsTable()"
            )
        known = sorted(known, key=str.lower)
        lower = {name.lower() for name in known}
        for name in self._given:
            if name not in lower and name not in _OF_SPARK:
                raise BadOption(f"there is no option {name}; the options are {', '.join(known)}")

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._given.get(name.lower(), default)

    def need(self, name: str, why: str) -> str:
        value = self.text(name)
        if value is None:
            raise BadOption(f"the option {name} is missing: {why}")
        return value

    def number(self, name: str, low: int, high: int) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            number = int(value)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise BadOption(f"the option {name} must be a whole number from {low:,} to {high:,}, not {value!r}")
        return number

    def label(self, name: str) -> str | None:
        """A name that the service takes for a consumer or an application."""
        value = self.text(name)
        if value is not None and not (len(value) <= _MAX_LABEL and value.isascii() and value.isprintable()):
            raise BadOption(f"the option {name} must be 1 to {_MAX_LABEL} printable ASCII characters, not {value!r}")
        return value

    def choice(self, name: str, words: Iterable[str], default: str) -> str:
        value = self.text(name, default)
        for word in words:
            if value is not None and value.lower() == word:
                return word
        raise BadOption(f"the option {name} must be {' or '.join(words)}, not {value!r}")
