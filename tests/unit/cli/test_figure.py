"""Figures as people read them."""

import pytest

from rockdove.cli.figure import amount, duration, harmless, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (30, "30 s"),
        (90, "1 min 30 s"),
        (3600, "1 h"),
        (43_200, "12 h"),
        (86_400, "1 day"),
        (345_600, "4 days"),
        (1_209_599, "13 days 23 h 59 min 59 s"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1_048_576, "1 MiB"),
        (1_500_000, "1.43 MiB"),
        (1_073_741_823, "1024 MiB"),
        (5 * 1024**3, "5 GiB"),
        (5 * 1024**5, "5120 TiB"),
    ],
)
def test_sizes(number: int, text: str) -> None:
    assert size(number) == text


def test_amounts() -> None:
    assert [amount(number, "message") for number in (0, 1, 2000)] == ["0 messages", "1 message", "2,000 messages"]


def test_text_cannot_steer_a_terminal() -> None:
    assert harmless("a\x1b[2Jb\x07\x9b\r") == "a\\x1b[2Jb\\x07\\x9b\\x0d"
    assert harmless("line\n\ttab ü") == "line\n\ttab ü"
