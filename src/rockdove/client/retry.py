"""When to ask again, and after how long: only if asking twice cannot do something twice."""

import random

from msgspec import Struct

from rockdove.client.error import Lost, UnexpectedAnswer
from rockdove.core.errors import Fault, RockdoveError, ServiceUnavailable, Throttling
from rockdove.wire import account, shape, topic
from rockdove.wire.shape import Request

# Doing these twice differs from doing them once. Receives are not among them: what an answer that got lost held
# becomes visible again.
_ONCE = (
    shape.SendMessage,
    shape.SendMessageBatch,
    shape.PurgeQueue,
    shape.DeleteQueue,
    shape.AddPermission,
    shape.RemovePermission,
    shape.StartMessageMoveTask,
    shape.CancelMessageMoveTask,
    topic.AddTopicPermission,
    topic.RemoveTopicPermission,
    account.AddAccount,
    account.AddAccountToken,
    account.RemoveAccountToken,
    account.RotateAccountKey,
    account.FinishAccountRotation,
    account.RemoveAccount,
)


class Retry(Struct, frozen=True):
    """How often to ask in all, and the bounds of the pauses in between, which double and are drawn at random."""

    attempts: int = 4
    base_s: float = 0.1
    max_s: float = 2.0

    def pause_s(self, request: Request, attempt: int, error: Lost | RockdoveError, rng: random.Random) -> float | None:
        """How long to wait after the ``attempt``-th failure, counted from 1; None: do not ask again."""
        if attempt >= self.attempts or not _may_ask_again(request, error):
            return None
        return rng.uniform(0.5, 1.0) * min(self.max_s, self.base_s * 2.0 ** (attempt - 1))


# Ask once.
NEVER = Retry(attempts=1)


def _may_ask_again(request: Request, error: Lost | RockdoveError) -> bool:
    if isinstance(error, Lost):
        return not error.arrived or _is_repeatable(request)
    if isinstance(error, ServiceUnavailable | Throttling):
        # By their definition nothing has been done.
        return True
    if isinstance(error, Fault | UnexpectedAnswer):
        return error.status >= 500 and _is_repeatable(request)
    return False


def _is_repeatable(request: Request) -> bool:
    """A send with a deduplication id is: for five minutes the service takes the second for the first."""
    if isinstance(request, shape.SendMessage):
        return request.message_deduplication_id is not None
    if isinstance(request, shape.SendMessageBatch):
        return all(entry.message_deduplication_id is not None for entry in request.entries)
    if isinstance(request, topic.Publish):
        return request.message_deduplication_id is not None
    if isinstance(request, topic.PublishToTopicBatch):
        return all(each.message_deduplication_id is not None for each in request.publish_batch_request_entries)
    return not isinstance(request, _ONCE)
