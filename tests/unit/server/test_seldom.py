"""Lines about clients that are turned away: one a minute, however many there are."""

import logging

import pytest

from rockdove.server.seldom import EVERY_S, Seldom


def fields(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, int]]:
    return [
        (record.__dict__["event"], record.__dict__["fields"]["address"], record.__dict__["fields"]["silent"])
        for record in caplog.records
    ]


def test_one_line_a_minute_for_each_event(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 1_000.0
    seldom = Seldom(lambda: now_s)
    with caplog.at_level(logging.WARNING, "rockdove"):
        for number in range(10_000):
            seldom.warn("throttled", "a client is throttled", address=f"192.0.2.{number % 256}")
        seldom.warn("connections-full", "a client is turned away", address="192.0.2.1")
        now_s += EVERY_S
        seldom.warn("throttled", "a client is throttled", address="192.0.2.9")
        now_s += EVERY_S
        seldom.warn("throttled", "a client is throttled", address="192.0.2.8")
    assert fields(caplog) == [
        ("throttled", "192.0.2.0", 0),
        ("connections-full", "192.0.2.1", 0),
        ("throttled", "192.0.2.9", 9_999),
        ("throttled", "192.0.2.8", 0),
    ]
