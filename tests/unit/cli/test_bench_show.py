"""How a bench ends that did not do all it should."""

import pytest
from msgspec.structs import replace

from rockdove.cli.bench.show import _judge
from rockdove.cli.failure import Failure
from rockdove.workload.measure import row
from tests.unit.workload.test_measure import worked


def test_a_trace_that_is_not_whole_is_a_failure() -> None:
    fine = row("http://a", worked([1, 2, 3, 4, 5]))
    _judge([fine])
    with pytest.raises(Failure, match="the trace is not whole: 3 events could not be written"):
        _judge([fine, replace(fine, untraced=3)])


def test_lost_messages_count_for_more() -> None:
    fine = row("http://a", worked([1, 2, 3, 4, 5]))
    with pytest.raises(Failure, match="lost: 1 message at http://a"):
        _judge([replace(fine, lost=1, untraced=3)])
