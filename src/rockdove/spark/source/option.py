"""The options of the source."""

from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from rockdove.core.limits import MAX_VISIBILITY_TIMEOUT_S, MAX_WAIT_S
from rockdove.spark.service import place
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.source import schema

CONSUMER: Final = "consumer"
PARTITIONS: Final = "numPartitions"
PER_TRIGGER: Final = "maxMessagesPerTrigger"
WAIT: Final = "waitTimeSeconds"
JOURNAL: Final = "journal"
VISIBILITY: Final = "visibilityTimeoutSeconds"
MODE: Final = "mode"
LEASE: Final = "leaseId"
MOST: Final = "maxMessages"
PER_SECOND: Final = "maxMessagesPerSecond"
SENT_FROM: Final = "sentFrom"
SENT_UNTIL: Final = "sentUntil"
GROUP: Final = "messageGroupId"
NAMES: Final = (
    *place.NAMES,
    *schema.NAMES,
    CONSUMER,
    PARTITIONS,
    PER_TRIGGER,
    WAIT,
    JOURNAL,
    VISIBILITY,
    MODE,
    LEASE,
    MOST,
    PER_SECOND,
    SENT_FROM,
    SENT_UNTIL,
    GROUP,
)
_OF_STREAMS: Final = (CONSUMER, PER_TRIGGER, PER_SECOND, WAIT, JOURNAL, VISIBILITY)
_CHOOSE: Final = (SENT_FROM, SENT_UNTIL, GROUP)
_OF_BATCHES: Final = (MODE, LEASE, MOST, *_CHOOSE)

MODES: Final = ("peek", "drain")
MAX_PARTITIONS: Final = 1_000
_BIG: Final = 2**31 - 1
_WAIT_S: Final = 1
_VISIBILITY_S: Final = 120


class StreamOptions(Struct, frozen=True):
    """None: not given."""

    consumer: str | None
    partitions: int | None
    per_trigger: int | None
    per_second: int | None
    wait_s: int
    journal: Path | None
    # How long messages are hidden that are received for the journal.
    visibility_s: int


class Chosen(Struct, frozen=True):
    """What a look shows: messages sent from a time on and before another, in seconds since 1970, and of a group."""

    sent_from: float | None = None
    sent_until: float | None = None
    group_id: str | None = None


EVERYTHING: Final = Chosen()


class BatchOptions(Struct, frozen=True):
    """``mode`` is ``peek`` or ``drain``; a drain has a lease id."""

    mode: str
    lease_id: str | None
    partitions: int | None
    most: int | None
    chosen: Chosen


def check(options: Options, service: str) -> None:
    """All that can be told before Spark says whether it wants a stream or a batch. Raises `BadOption`."""
    if any(options.text(name) is not None for name in _OF_BATCHES):
        for_batch(options)
    elif for_stream(options).journal is None and service == "sqs":
        raise no_journal("another service than Rockdove")


def no_journal(what: str) -> BadOption:
    return BadOption(
        f"the option {JOURNAL} is missing: {what} is read as a stream (spark.readStream), through a journal. Name a "
        "folder for it beside the checkpoint, where all machines reach it"
    )


def for_stream(options: Options) -> StreamOptions:
    """Raises `BadOption`."""
    for name in _OF_BATCHES:
        if options.text(name) is not None:
            raise BadOption(f"the option {name} is for batches (spark.read), not for streams")
    wait_s = options.number(WAIT, 0, MAX_WAIT_S)
    visibility_s = options.number(VISIBILITY, 1, MAX_VISIBILITY_TIMEOUT_S)
    journal = options.text(JOURNAL)
    return StreamOptions(
        consumer=options.label(CONSUMER),
        partitions=options.number(PARTITIONS, 1, MAX_PARTITIONS),
        per_trigger=options.number(PER_TRIGGER, 1, _BIG),
        per_second=options.number(PER_SECOND, 1, _BIG),
        wait_s=_WAIT_S if wait_s is None else wait_s,
        journal=None if journal is None else Path(_local(journal)).absolute(),
        visibility_s=_VISIBILITY_S if visibility_s is None else visibility_s,
    )


def for_batch(options: Options) -> BatchOptions:
    """Raises `BadOption`."""
    for name in _OF_STREAMS:
        if options.text(name) is not None:
            raise BadOption(f"the option {name} is for streams (spark.readStream), not for batches")
    mode = options.choice(MODE, MODES, MODES[0])
    lease_id = options.label(LEASE)
    if mode == "drain" and lease_id is None:
        raise BadOption(f"the option {LEASE} is missing: with the same one, {MODE}=drain gives the same rows again")
    if mode == "peek" and lease_id is not None:
        raise BadOption(f"the option {LEASE} is for {MODE}=drain")
    for name in _CHOOSE:
        if mode == "drain" and options.text(name) is not None:
            raise BadOption(f"the option {name} is for {MODE}=peek: a drain takes messages as they come")
    return BatchOptions(
        mode=mode,
        lease_id=lease_id,
        partitions=options.number(PARTITIONS, 1, MAX_PARTITIONS),
        most=options.number(MOST, 1, _BIG),
        chosen=Chosen(_time(options, SENT_FROM), _time(options, SENT_UNTIL), options.text(GROUP)),
    )


def _time(options: Options, name: str) -> float | None:
    """In seconds since 1970."""
    text = options.text(name)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None or time.timestamp() < 0:
        raise BadOption(f"the option {name} must be a time with its zone, such as 2026-11-18T20:00:00Z, not {text!r}")
    return time.timestamp()


def _local(path: str) -> str:
    scheme, colon, rest = path.partition(":")
    if not colon:
        return path
    if scheme != "file":
        raise BadOption(f"the option {JOURNAL} must be a folder in a file system that all machines share, not {path!r}")
    return "/" + rest.lstrip("/")
