"""Types in Spark's words, looked through before Spark reads them: its own errors do not say which option is wrong.

Only what bodies can be parsed to passes; Spark then makes the types.
"""

import re
from typing import Final

_NUMBERS: Final = (
    "TINYINT",
    "BYTE",
    "SMALLINT",
    "SHORT",
    "INT",
    "INTEGER",
    "BIGINT",
    "LONG",
    "FLOAT",
    "REAL",
    "DOUBLE",
)
_TIMES: Final = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_SIMPLE: Final = frozenset((*_NUMBERS, *_TIMES, "BOOLEAN", "STRING", "BINARY"))
_DECIMAL: Final = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_DIGITS: Final = 38
_DEFAULT: Final = ("10", "0")
_TOKEN: Final = re.compile(r"""\s*(`(?:[^`]|``)+`|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|\w+|[^\w\s])""")


class BadType(ValueError):
    """The message says what is wrong, and with which part."""


def check(text: str) -> None:
    """Raises `BadType` unless it is a type that bodies can be parsed to."""
    parser = _Parser(text)
    parser.type()
    if parser.token:
        raise BadType(f"{parser.token} after its end")


class _Parser:
    """Goes through the tokens once; ``token`` is the next one, empty at the end."""

    def __init__(self, text: str) -> None:
        self._rest = iter(_TOKEN.findall(text))
        self.token = next(self._rest, "")

    def type(self) -> None:
        word = self._take("a type").upper()
        if word in _DECIMAL:
            self._decimal(word)
        elif word == "ARRAY":
            self._need("<")
            self.type()
            self._need(">")
        elif word == "MAP":
            self._map()
        elif word == "STRUCT":
            self._struct()
        elif word not in _SIMPLE:
            hint = "; say STRING" if word in ("VARCHAR", "CHAR", "TEXT") else ""
            raise BadType(f"bodies cannot be parsed to the type {word}{hint}")

    def _map(self) -> None:
        self._need("<")
        if self.token.upper() != "STRING":
            raise BadType(f"the keys of a MAP are STRING, not {self.token or 'nothing'}")
        self.type()
        self._need(",")
        self.type()
        self._need(">")

    def _struct(self) -> None:
        self._need("<")
        names: set[str] = set()
        while self.token != ">":
            if names:
                self._need(",")
            name = self._take("the name of a field").strip("`").replace("``", "`")
            if name in names:
                raise BadType(f"the field {name} is there twice")
            names.add(name)
            self._field()
        self._need(">")

    def _field(self) -> None:
        if self.token == ":":
            self._need(":")
        self.type()
        if self.token.upper() == "NOT":
            self._need("NOT")
            self._need("NULL")
        if self.token.upper() == "COMMENT":
            self._need("COMMENT")
            self._take("a comment")

    def _decimal(self, word: str) -> None:
        found = list[str]()
        if self.token == "(":
            while self.token in ("(", ","):
                self._need(self.token)
                found.append(self._take("a number"))
            self._need(")")
        digits, scale = (*found, *_DEFAULT[len(found) :]) if len(found) <= 2 else ("", "")
        if not (digits.isdecimal() and scale.isdecimal() and 1 <= int(digits) <= _DIGITS and int(scale) <= int(digits)):
            raise BadType(
                f"{word}({', '.join(found)}): a {word} has 1 to {_DIGITS} digits, of which the scale is a part"
            )

    def _take(self, what: str) -> str:
        token = self.token
        if not re.match(r"[\w`'\"]", token):
            raise BadType(f"{what} is missing{f' before {token}' if token else ' at its end'}")
        self.token = next(self._rest, "")
        return token

    def _need(self, token: str) -> None:
        if self.token.upper() != token:
            raise BadType(f"{token} is missing{f' before {self.token}' if self.token else ' at its end'}")
        self.token = next(self._rest, "")
