"""A signal as a word: the first is heard, the second ends everything, and a twin of the first is no second."""

import signal

import pytest

from rockdove.workload.interrupt import Interrupt


def test_the_second_signal_is_a_keyboard_interrupt() -> None:
    now = 100.0
    with Interrupt(lambda: now) as interrupt:
        signal.raise_signal(signal.SIGINT)
        now += 0.1
        signal.raise_signal(signal.SIGINT)
        assert interrupt.heard
        now += 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
