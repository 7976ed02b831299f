"""The process that writes a trace, where the system does not let it do all that it would."""

import os
from typing import NoReturn

import pytest

from rockdove.trace.child import step_back


def test_where_it_may_not_step_back_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a filter of system calls."""
    tried: list[str] = []

    def denied(name: str) -> object:
        def call(*arguments: object) -> NoReturn:
            tried.append(name)
            raise PermissionError(1, "Operation not permitted")

        return call

    monkeypatch.setattr(os, "sched_setscheduler", denied("sched_setscheduler"))
    step_back()
    assert tried == ["sched_setscheduler"]
