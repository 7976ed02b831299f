"""The log of a service: one line an event, as text for people or as JSON for machines, without anybody's secrets.

An event has a name and fields: ``log.info("listening", extra=fields("start", url=url))``. Nothing that clients send
goes into them but names of queues, operations and accounts, and addresses. An exception is shown by its type and where
it came from; its text, which might hold a message's body, only at the level ``debug``.
"""

import logging
import sys
import traceback
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec


class Form(StrEnum):
    """How lines look."""

    text = "text"
    json = "json"


class Level(StrEnum):
    """What is worth a line."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def fields(event: str, **values: Any) -> dict[str, Any]:
    """What to pass to a logger as ``extra``."""
    return {"event": event, "fields": values}


def configure(form: Form, level: Level) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((JsonFormatter if form is Form.json else TextFormatter)(level is Level.debug))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Of libraries only what is wrong.
    root.setLevel(logging.WARNING)
    logging.getLogger("rockdove").setLevel(level.upper())
    # Nobody reads standard error: no reason to stop serving, and nobody to be told.
    logging.raiseExceptions = False


def trace(error: BaseException, with_text: bool) -> list[str]:
    """An exception, and those that led to it, by type and place."""
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        lines.append(f"{type(seen).__name__}: {seen}" if with_text else type(seen).__name__)
        lines += [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(seen.__traceback__)]
        seen = seen.__cause__ or seen.__context__
    return [_one_line(line) for line in lines]


class TextFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.000Z WARNING the message (field=value)``, and the places of an exception below it."""

    def __init__(self, with_text: bool) -> None:
        super().__init__()
        self._with_text = with_text

    def format(self, record: logging.LogRecord) -> str:
        values = _fields(record)
        line = f"{_time(record)} {record.levelname} {_one_line(record.getMessage())}"
        if values:
            line += " (" + ", ".join(f"{name}={_one_line(str(value))}" for name, value in values.items()) + ")"
        return "\n    ".join([line, *_trace(record, self._with_text)])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, event, message, then the event's fields."""

    def __init__(self, with_text: bool) -> None:
        super().__init__()
        self._with_text = with_text

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            "message": record.getMessage(),
            **_fields(record),
        }
        places = _trace(record, self._with_text)
        if places:
            line["trace"] = places
        return msgspec.json.encode(line, enc_hook=str).decode()


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, "fields", {})
    return found


def _trace(record: logging.LogRecord, with_text: bool) -> list[str]:
    if record.exc_info is None or record.exc_info[1] is None:
        return []
    return trace(record.exc_info[1], with_text)


def _one_line(text: str) -> str:
    """Nobody can write a line of his own into the log."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
