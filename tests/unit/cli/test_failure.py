"""Every error has an exit code and one line."""

import inspect

import pytest

from rockdove.cli.failure import Code, Failure, code_of, line_of
from rockdove.client.fault import read_fault
from rockdove.core import errors
from rockdove.core.errors import (
    AccountConflict,
    DataFolderError,
    Fault,
    InvalidParameterValue,
    MissingParameter,
    RockdoveError,
)

FAULTS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Fault) and kind is not Fault
]
NOT_FOUND = {"NoSuchAccount", "NoSuchToken", "QueueDoesNotExist", "ResourceNotFound", "TopicNotFound"}
USAGE = {
    "InvalidAddress",
    "InvalidAttributeName",
    "InvalidAttributeValue",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
}
REFUSED = {
    "AccountConflict",
    "AccountExists",
    "OverLimit",
    "PurgeQueueInProgress",
    "QueueDeletedRecently",
    "QueueNameExists",
    "SubscriptionLimitExceeded",
    "TagLimitExceeded",
    "TopicLimitExceeded",
    "UnsupportedOperation",
}


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_faults(kind: type[Fault]) -> None:
    expected = Code.FAILED
    if kind.__name__ in NOT_FOUND:
        expected = Code.NOT_FOUND
    elif kind.__name__ in USAGE:
        expected = Code.USAGE
    elif kind.__name__ in REFUSED or kind.status in (401, 403):
        expected = Code.REFUSED
    fault = kind("It went\nwrong.\n")
    assert code_of(fault) == expected
    assert line_of(fault).startswith("It went wrong (")
    assert "\n" not in line_of(kind())


def test_a_denial_that_this_client_does_not_know_is_a_refusal() -> None:
    fault = read_fault(403, "AccessDenied;Sender", b'{"__type":"com.amazonaws.sqs#AccessDenied","message":"No."}')
    assert fault is not None
    assert code_of(fault) == Code.REFUSED
    assert line_of(fault) == "No (AccessDenied)"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Failure("stop"), Code.FAILED, "stop"),
        (Failure("stop", Code.USAGE), Code.USAGE, "stop"),
        (DataFolderError("full"), Code.FAILED, "full"),
        (
            MissingParameter("The request must contain the parameter MessageGroupId."),
            Code.USAGE,
            "The request must contain the parameter MessageGroupId (MissingParameter); give it with --group",
        ),
        (
            AccountConflict("ann has two keys already."),
            Code.REFUSED,
            (
                "ann has two keys already (Conflict); "
                "say --finish to retire the old key, or --cancel to retire the new one"
            ),
        ),
        (
            InvalidParameterValue("The topic needs this or MessageDeduplicationId provided"),
            Code.USAGE,
            (
                "The topic needs this or MessageDeduplicationId provided (InvalidParameterValue); "
                "give one with --dedup-id, or set ContentBasedDeduplication=true on the topic"
            ),
        ),
        (InvalidParameterValue("Value 7."), Code.USAGE, "Value 7 (InvalidParameterValue)"),
    ],
)
def test_lines(error: RockdoveError, code: Code, line: str) -> None:
    assert (code_of(error), line_of(error)) == (code, line)
