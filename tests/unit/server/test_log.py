"""What a line of the log looks like, and what never is in one."""

import json
import logging

import pytest

from rockdove.server.log import JsonFormatter, TextFormatter, fields


def record(message: str, *arguments: object, error: Exception | None = None, **extra: object) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("rockdove", logging.WARNING, "file", 1, message, arguments, info)
    made.created = 1_700_000_000.25
    made.__dict__.update(extra)
    return made


def raised(secret: str) -> Exception:
    try:
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise ValueError(f"cannot use {secret}") from error
    except ValueError as error:
        return error


def test_json() -> None:
    line = JsonFormatter(False).format(record("refused %s", "x", **fields("refused", address="192.0.2.1", number=3)))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "warning",
        "event": "refused",
        "message": "refused x",
        "address": "192.0.2.1",
        "number": 3,
    }


def test_text() -> None:
    line = TextFormatter(False).format(record("refused", **fields("refused", address="192.0.2.1", number=3)))
    assert line == "2023-11-14T22:13:20.250Z WARNING refused (address=192.0.2.1, number=3)"


@pytest.mark.parametrize("formatter", [JsonFormatter, TextFormatter])
def test_an_exception_is_shown_without_its_text(formatter: type[JsonFormatter | TextFormatter]) -> None:
    line = formatter(False).format(record("a defect", error=raised("hunter2")))
    assert "hunter2" not in line
    for word in ("ValueError", "KeyError", "test_log.py", "raised"):
        assert word in line
    assert "hunter2" in formatter(True).format(record("a defect", error=raised("hunter2")))


def test_nobody_writes_lines_of_his_own() -> None:
    line = TextFormatter(False).format(
        record("name %s", "a\n2023 ERROR all is lost\x1b[2J\u2028", **fields("x", y="b\nc"))
    )
    assert "\n" not in line
    assert "\x1b" not in line
    assert "a\\n2023 ERROR" in line
    assert json.loads(JsonFormatter(False).format(record("a\nb")))["message"] == "a\nb"
    assert "\n" not in JsonFormatter(False).format(record("a\nb"))


def test_what_json_cannot_hold_is_written_as_text() -> None:
    assert json.loads(JsonFormatter(False).format(record("x", **fields("x", what=Exception("e")))))["what"] == "e"
