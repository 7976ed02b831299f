"""How a command ends when it does not succeed: an exit code, and one line that says what to do."""

from enum import IntEnum

from rockdove.core.errors import (
    AccountConflict,
    AccountExists,
    Fault,
    InvalidAddress,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidMessageContents,
    InvalidParameterValue,
    MissingParameter,
    NoSuchAccount,
    NoSuchToken,
    OverLimit,
    PurgeQueueInProgress,
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
    ResourceNotFound,
    RockdoveError,
    SubscriptionLimitExceeded,
    TagLimitExceeded,
    TopicLimitExceeded,
    TopicNotFound,
    UnsupportedOperation,
)


class Code(IntEnum):
    """The exit codes of all commands.

    ``REFUSED`` is a no that another time, another place or other rights would turn into a yes: access denied, a data
    folder that another process holds, a folder that is not empty, a queue deleted a moment ago, no confirmation.
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREACHABLE = 4
    REFUSED = 5
    # What a shell reports for a program that Ctrl-C ended.
    INTERRUPTED = 130


class Failure(RockdoveError):
    """A command cannot go on; the message is for the user."""

    def __init__(self, message: str, code: Code = Code.FAILED) -> None:
        self.code = code
        super().__init__(message)


class ReaderGone(RockdoveError):
    """Whoever reads our standard output has closed it: he has seen enough, and the command is done."""


_NOT_FOUND = (NoSuchAccount, NoSuchToken, QueueDoesNotExist, ResourceNotFound, TopicNotFound)
_REFUSED = (
    AccountConflict,
    AccountExists,
    OverLimit,
    PurgeQueueInProgress,
    QueueDeletedRecently,
    QueueNameExists,
    SubscriptionLimitExceeded,
    TagLimitExceeded,
    TopicLimitExceeded,
    UnsupportedOperation,
)
# What was given cannot be meant, here or anywhere else.
_USAGE = (
    InvalidAddress,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidMessageContents,
    InvalidParameterValue,
    MissingParameter,
)
_DENIED = (401, 403)

_ADVICE: dict[type[Fault], str] = {
    InvalidAttributeName: "attributes are named as in SQS, such as VisibilityTimeout",
    NoSuchAccount: '"rockdove account list" shows the accounts that there are',
    QueueDoesNotExist: '"rockdove queue list" shows the queues that there are',
    TopicNotFound: '"rockdove topic list" shows the topics that there are',
    QueueNameExists: 'change the attributes of the queue that is there with "rockdove queue set"',
}


def code_of(error: RockdoveError) -> Code:
    if isinstance(error, Failure):
        return error.code
    if isinstance(error, Fault):
        if isinstance(error, _NOT_FOUND):
            return Code.NOT_FOUND
        if isinstance(error, _USAGE):
            return Code.USAGE
        return Code.REFUSED if isinstance(error, _REFUSED) or error.status in _DENIED else Code.FAILED
    return Code.FAILED


def line_of(error: RockdoveError) -> str:
    """One line, whatever the error's text is."""
    text = " ".join(str(error).split())
    if not isinstance(error, Fault):
        return text
    told = f"{text.rstrip('.')} ({error.code.removeprefix('AWS.SimpleQueueService.')})" if text else error.code
    advice = _advice(error)
    return f"{told}; {advice}" if advice else told


def _advice(fault: Fault) -> str | None:
    if isinstance(fault, MissingParameter) and "MessageGroupId" in fault.message:
        return "give it with --group"
    if isinstance(fault, AccountConflict) and "two keys" in fault.message:
        return "say --finish to retire the old key, or --cancel to retire the new one"
    if "MessageDeduplicationId provided" in fault.message:
        of = "topic" if "topic" in fault.message else "queue"
        return f"give one with --dedup-id, or set ContentBasedDeduplication=true on the {of}"
    return _ADVICE.get(type(fault))
