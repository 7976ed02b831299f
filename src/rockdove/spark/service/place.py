"""Where a queue is: endpoint, name, region, who asks, and how patiently."""

import re
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from rockdove.client import Client, Credentials, Retry
from rockdove.client.endpoint import parse_endpoint
from rockdove.spark.service import credential
from rockdove.spark.service.option import BadOption, Options

ENDPOINT: Final = "endpoint"
QUEUE: Final = "queue"
REGION: Final = "region"
PATIENCE: Final = "patienceSeconds"
SERVICE: Final = "service"
NAMES: Final = (ENDPOINT, QUEUE, REGION, PATIENCE, SERVICE, *credential.NAMES)

SERVICES: Final = ("auto", "rockdove", "sqs")
_PATIENCE_S: Final = 120
_MAX_PATIENCE_S: Final = 86_400
# Pauses between two attempts double up to this, and are three quarters of it on average.
_PAUSE_S: Final = 2.0
# Attempts until pauses have grown so long.
_FIRST: Final = 6
_REGION = re.compile(r"^(?:sqs|queue)\.([a-z0-9-]+)\.amazonaws\.com")


class QueuePlace(Struct, frozen=True):
    """Pickled with readers and writers; its text has no secrets."""

    queue: str
    endpoint: str
    region: str | None
    credentials: Credentials | None
    patience_s: int
    # "auto", "rockdove" or "sqs".
    service: str

    def client(self, retry: Retry | None = None) -> Client:
        """Unless told otherwise it waits for a service that is being restarted."""
        patient = Retry(attempts=_FIRST + round(self.patience_s / (0.75 * _PAUSE_S)), max_s=_PAUSE_S)
        return Client(self.endpoint, region=self.region, credentials=self.credentials, retry=retry or patient)

    @property
    def queue_name(self) -> str:
        """The same whether the queue is told by its name or by its URL."""
        return self.queue.rpartition("/")[2]

    @property
    def name(self) -> str:
        """What messages call the queue."""
        return f"{self.queue_name} at {self.endpoint}"


def find(options: Options) -> QueuePlace:
    """Raises `BadOption`."""
    queue = options.text(QUEUE) or options.text("path")
    if queue is None:
        raise BadOption(f"the option {QUEUE} is missing: it names a queue, by its name or its URL")
    parts = urlsplit(queue)
    of_queue = None
    if parts.scheme in ("http", "https"):
        of_queue = f"{parts.scheme}://{parts.netloc}"
        queue = queue.rstrip("/")
    try:
        endpoint = parse_endpoint(options.text(ENDPOINT) or of_queue)
    except ValueError as error:
        raise BadOption(f"the option {ENDPOINT}: {error}") from None
    patience_s = options.number(PATIENCE, 0, _MAX_PATIENCE_S)
    found = _REGION.match(endpoint.host)
    return QueuePlace(
        queue=queue,
        endpoint=endpoint.url,
        region=options.text(REGION) or (found[1] if found else None),
        credentials=credential.find(options),
        patience_s=_PATIENCE_S if patience_s is None else patience_s,
        service=options.choice(SERVICE, SERVICES, "auto"),
    )
