"""Operations as steps, written once for both clients: a generator yields requests and is sent their results."""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

from rockdove.core.errors import Fault
from rockdove.wire.shape import (
    GetQueueAttributes,
    GetQueueAttributesResult,
    GetQueueUrl,
    GetQueueUrlResult,
    Request,
    Result,
)

T = TypeVar("T")
R = TypeVar("R", bound=Result)

# Faults are thrown in where the request was yielded.
Steps: TypeAlias = Generator[Request, Any, T]


def ask(request: Request, result: type[R]) -> Steps[R]:
    answer = yield request
    assert isinstance(answer, result)
    return answer


def tell(request: Request) -> Steps[None]:
    """For operations without result."""
    yield request


def drive(steps: Steps[T], call: Callable[[Request], Result | None]) -> T:
    """Carry out steps by a function that answers requests; the faults that it raises are thrown in."""
    try:
        request = next(steps)
        while True:
            try:
                result = call(request)
            except Fault as fault:
                request = steps.throw(fault)
            else:
                request = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


class Names:
    """Lets callers name a queue by its name, its URL or its ARN; what must be asked for is asked once."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._arns: dict[str, str] = {}
        # ARNs by names.
        self.topics: dict[str, str] = {}

    def url(self, queue: str) -> Steps[str]:
        if "/" in queue:
            return queue
        name = queue.rpartition(":")[2] if queue.startswith("arn:") else queue
        url = self._urls.get(name)
        if url is None:
            answer = yield from ask(GetQueueUrl(queue_name=name), GetQueueUrlResult)
            url = self._urls[name] = answer.queue_url
        return url

    def arn(self, queue: str) -> Steps[str]:
        if queue.startswith("arn:"):
            return queue
        url = yield from self.url(queue)
        arn = self._arns.get(url)
        if arn is None:
            request = GetQueueAttributes(queue_url=url, attribute_names=["QueueArn"])
            answer = yield from ask(request, GetQueueAttributesResult)
            arn = self._arns[url] = answer.attributes["QueueArn"]
        return arn

    def learn(self, name: str, url: str) -> None:
        self._urls[name] = url

    def forget(self, url: str) -> None:
        self._urls = {name: known for name, known in self._urls.items() if known != url}
        self._arns.pop(url, None)
