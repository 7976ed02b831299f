"""Every error of ours; the SQS faults carry what both protocols need to render them."""

from typing import ClassVar


class RockdoveError(Exception):
    """Root of all errors that Rockdove raises on purpose."""


class MissingExtra(RockdoveError):
    """A package is not installed that only some users need; the message tells how to get it."""


class StoreError(RockdoveError):
    """The store could not do what was asked; nothing of it was acknowledged."""


class StoreInterrupted(StoreError):
    """The store has gone while it was asked: nobody knows whether it has done that."""


class QueueGone(StoreError):
    """The queue was purged or deleted meanwhile."""


class QueueAway(StoreError):
    """A physical queue cannot be reached at the moment, though others may be: it was not asked.

    ``numbers``: which, where several were meant.
    """

    numbers: frozenset[int] = frozenset()


class NoMajority(StoreError):
    """Queues and accounts cannot be changed: too few servers of the store can be reached to agree on it."""


class StoreFull(StoreError):
    """There is no room for it on the disk."""


class DataFolderError(RockdoveError):
    """The data folder cannot be used: locked, of another format, or damaged."""


class FolderFull(DataFolderError):
    """There is no room for the data on the disk."""


class ExposedError(RockdoveError):
    """The service is to listen where others can reach it, and there are no accounts to keep them out."""


# Characters of an error's text: it may quote what the client has sent, which may be megabytes.
_LONGEST_TEXT = 8_192


def _short(text: str) -> str:
    half = _LONGEST_TEXT // 2
    return text if len(text) <= _LONGEST_TEXT else f"{text[:half]} ... {text[-half:]}"


class Fault(RockdoveError):
    """An error that a client sees, as SQS has it.

    ``shape`` is the class name an SDK derives from ``__type`` (JSON), ``code`` the legacy code (Query, and the
    ``x-amzn-query-error`` header of JSON), ``status`` the HTTP status, ``sender`` whether the client is at fault.
    """

    shape: ClassVar[str] = "InternalFailure"
    code: ClassVar[str] = "InternalFailure"
    status: ClassVar[int] = 400
    sender: ClassVar[bool] = True
    # Where SQS has one fixed text for the fault.
    text: ClassVar[str] = ""
    # Whether something was looked for in vain that another front-end may have made a moment ago.
    missed: bool = False

    def __init__(self, message: str | None = None) -> None:
        self.message = self.text if message is None else _short(message)
        super().__init__(self.message)


class InternalFailure(Fault):
    """A defect of ours."""

    status = 500
    sender = False
    text = "We encountered an internal error. Please try again."


class ServiceInterrupted(Fault):
    """The store has gone while it was asked: what was asked for may have been done, or not."""

    shape = "ServiceInterrupted"
    code = "ServiceInterrupted"
    status = 503
    sender = False
    text = "The service was interrupted, and does not know whether this was done. Retry only if doing it twice is safe."


class ServiceUnavailable(Fault):
    """The store refuses work (disk full, I/O error); nothing was acknowledged, trying again is safe."""

    shape = "ServiceUnavailable"
    code = "ServiceUnavailable"
    status = 503
    sender = False
    text = "The service cannot use its store right now. Please try again."


class InvalidParameterValue(Fault):
    """A parameter is out of range or badly formed."""

    shape = "InvalidParameterValueException"
    code = "InvalidParameterValue"


class MissingParameter(Fault):
    """A required parameter is absent."""

    shape = "MissingRequiredParameterException"
    code = "MissingParameter"


class InvalidAttributeName(Fault):
    """A queue or message attribute that does not exist."""

    shape = "InvalidAttributeName"
    code = "InvalidAttributeName"


class InvalidAttributeValue(Fault):
    """A queue attribute with a value outside its range."""

    shape = "InvalidAttributeValue"
    code = "InvalidAttributeValue"


class QueueDoesNotExist(Fault):
    """No such queue."""

    missed = True
    shape = "QueueDoesNotExist"
    code = "AWS.SimpleQueueService.NonExistentQueue"
    text = "The specified queue does not exist."


class QueueNameExists(Fault):
    """CreateQueue with other attributes than the queue of that name has."""

    shape = "QueueNameExists"
    code = "QueueAlreadyExists"


class QueueDeletedRecently(Fault):
    """CreateQueue within 60 seconds of DeleteQueue."""

    shape = "QueueDeletedRecently"
    code = "AWS.SimpleQueueService.QueueDeletedRecently"
    text = "You must wait 60 seconds after deleting a queue before you can create another with the same name."


class PurgeQueueInProgress(Fault):
    """PurgeQueue within 60 seconds of the last."""

    shape = "PurgeQueueInProgress"
    code = "AWS.SimpleQueueService.PurgeQueueInProgress"
    status = 403


class OverLimit(Fault):
    """More in flight, or more permissions, than SQS allows."""

    shape = "OverLimit"
    code = "OverLimit"
    status = 403


class MessageNotInflight(Fault):
    """ChangeMessageVisibility on a message that nobody holds."""

    shape = "MessageNotInflight"
    code = "AWS.SimpleQueueService.MessageNotInflight"


class ReceiptHandleIsInvalid(Fault):
    """A receipt handle that this service did not make for this queue."""

    shape = "ReceiptHandleIsInvalid"
    code = "ReceiptHandleIsInvalid"


class InvalidMessageContents(Fault):
    """A body with characters that SQS does not take."""

    shape = "InvalidMessageContents"
    code = "InvalidMessageContents"


class LeaseEnded(Fault):
    """A lease that was acknowledged or released: asked for again it gives neither the same messages nor others."""

    shape = "LeaseEnded"
    code = "LeaseEnded"


class BatchTooOld(Fault):
    """A batch so much older than the newest that nobody remembers whether it was published."""

    shape = "BatchTooOld"
    code = "BatchTooOld"


class BatchPartlyPublished(Fault):
    """Partitions of the batch were published on their own, and are not those that are to be published now."""

    shape = "BatchPartlyPublished"
    code = "BatchPartlyPublished"


class ElasticStateHeld(Fault):
    """Another controller scales this queue."""

    shape = "ElasticStateHeld"
    code = "ElasticStateHeld"
    status = 409


class UnsupportedOperation(Fault):
    """The operation does not fit the state of the queue."""

    shape = "UnsupportedOperation"
    code = "AWS.SimpleQueueService.UnsupportedOperation"


class MissingAuthenticationToken(Fault):
    """A request without any signature."""

    shape = "MissingAuthenticationTokenException"
    code = "MissingAuthenticationToken"
    status = 403
    text = "Request is missing Authentication Token"


class IncompleteSignature(Fault):
    """A signature that lacks a part, or has one that cannot be read."""

    shape = "IncompleteSignatureException"
    code = "IncompleteSignature"


class InvalidClientTokenId(Fault):
    """An access key that this service does not know, or of a disabled account; or a session token."""

    missed = True
    shape = "UnrecognizedClientException"
    code = "InvalidClientTokenId"
    status = 403
    text = "The security token included in the request is invalid."


class SignatureDoesNotMatch(Fault):
    """A signature by another secret, of another request, or of another time."""

    shape = "InvalidSignatureException"
    code = "SignatureDoesNotMatch"
    status = 403
    text = (
        "The request signature we calculated does not match the signature you provided. "
        "Check your secret access key and signing method."
    )


class RequestThrottled(Fault):
    """Too many bad signatures from one address."""

    shape = "RequestThrottled"
    code = "RequestThrottled"
    status = 403


class AccessDenied(Fault):
    """The caller may not do that."""

    missed = True
    shape = "AccessDeniedException"
    code = "AccessDenied"
    status = 403


class ResourceNotFound(Fault):
    """A queue or task named by a move task does not exist."""

    missed = True
    shape = "ResourceNotFoundException"
    code = "ResourceNotFoundException"
    status = 404


class NoSuchAccount(Fault):
    """No account of that name; AWS's word for it in IAM."""

    missed = True
    shape = "NoSuchEntity"
    code = "NoSuchEntity"
    status = 404


class AccountExists(Fault):
    """There is an account of that name already; AWS's word for it in IAM."""

    shape = "EntityAlreadyExists"
    code = "EntityAlreadyExists"
    status = 409


class NoSuchToken(Fault):
    """An account has no token of that id."""

    missed = True
    shape = "NoSuchToken"
    code = "NoSuchToken"
    status = 404


class AccountConflict(Fault):
    """An account is not in a state that allows it: it owns queues, is the last administrator, or has two keys."""

    shape = "ConflictException"
    code = "Conflict"
    status = 409


class EmptyBatchRequest(Fault):
    """A batch without entries."""

    shape = "EmptyBatchRequest"
    code = "AWS.SimpleQueueService.EmptyBatchRequest"
    text = "There should be at least one SendMessageBatchRequestEntry in the request."


class TooManyEntriesInBatchRequest(Fault):
    """A batch of more than ten."""

    shape = "TooManyEntriesInBatchRequest"
    code = "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"


class BatchEntryIdsNotDistinct(Fault):
    """Two entries of a batch with one id."""

    shape = "BatchEntryIdsNotDistinct"
    code = "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"


class InvalidBatchEntryId(Fault):
    """An entry id that is not 1 to 80 letters, digits, hyphens and underscores."""

    shape = "InvalidBatchEntryId"
    code = "AWS.SimpleQueueService.InvalidBatchEntryId"
    text = (
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
        "It can be at most 80 letters long."
    )


class BatchRequestTooLong(Fault):
    """The messages of a batch are together larger than the limit."""

    shape = "BatchRequestTooLong"
    code = "AWS.SimpleQueueService.BatchRequestTooLong"


class InvalidAction(Fault):
    """An operation that does not exist."""

    shape = "InvalidAction"
    code = "InvalidAction"


class MissingAction(Fault):
    """A Query request that names no operation."""

    shape = "MissingAction"
    code = "MissingAction"
    text = "The request is missing an action or a required parameter."


class NoSuchVersion(Fault):
    """A Query request for another version of the API."""

    shape = "NoSuchVersion"
    code = "NoSuchVersion"
    text = "An incorrect version was specified in the request."


class MalformedQueryString(Fault):
    """A query string or a form that cannot be read."""

    shape = "MalformedQueryString"
    code = "MalformedQueryString"
    status = 404
    text = "The query string contains a syntax error."


class InvalidAddress(Fault):
    """A queue URL that is none."""

    shape = "InvalidAddress"
    code = "InvalidAddress"
    status = 404


class UnknownPath(Fault):
    """A path that the REST interface does not have."""

    shape = "UnknownPath"
    code = "UnknownPath"
    status = 404


class MethodNotAllowed(Fault):
    """A method that a path of the REST interface does not take."""

    shape = "MethodNotAllowed"
    code = "MethodNotAllowed"
    status = 405


class UnknownOperation(Fault):
    """An ``X-Amz-Target`` that names no operation."""

    shape = "UnknownOperationException"
    code = "UnknownOperationException"


class MalformedInput(Fault):
    """A request body that is not what the protocol says: bad JSON, a wrong type, a broken form."""

    shape = "SerializationException"
    code = "MalformedInput"


class RequestTooLarge(Fault):
    """A request body larger than the service takes."""

    shape = "RequestEntityTooLarge"
    code = "RequestEntityTooLarge"
    status = 413


class UnsupportedMediaType(Fault):
    """A request body that is compressed: inflating it could take any amount of memory."""

    shape = "UnsupportedMediaTypeException"
    code = "UnsupportedMediaType"
    status = 415
    text = "The request's body is compressed (header Content-Encoding); send it as it is."


class Throttling(Fault):
    """More at once than the service takes. On this one every SDK asks again after a pause, on SQS's own not all do."""

    shape = "ThrottlingException"
    code = "ThrottlingException"


# Of topics, with the words of SNS.


class TopicNotFound(Fault):
    """No such topic or subscription."""

    missed = True
    shape = "NotFoundException"
    code = "NotFound"
    status = 404


class TopicLimitExceeded(Fault):
    """An account has as many topics as it may."""

    shape = "TopicLimitExceededException"
    code = "TopicLimitExceeded"
    status = 403


class SubscriptionLimitExceeded(Fault):
    """A topic has as many subscriptions as it may."""

    shape = "SubscriptionLimitExceededException"
    code = "SubscriptionLimitExceeded"
    status = 403


class TagLimitExceeded(Fault):
    """A topic would have too many tags."""

    shape = "TagLimitExceededException"
    code = "TagLimitExceeded"
