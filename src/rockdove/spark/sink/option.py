"""The options of the sink."""

from typing import Final, cast, get_args

from msgspec import Struct

from rockdove.core.publication import Partly
from rockdove.spark.service import place
from rockdove.spark.service.option import BadOption, Options
from rockdove.spark.sink import folder

APPLICATION: Final = "application"
BATCH: Final = "batch"
REJECTS: Final = "rejectsPath"
PARTLY: Final = "partlyPublished"
NAMES: Final = (*place.NAMES, APPLICATION, BATCH, REJECTS, PARTLY)


class SinkOptions(Struct, frozen=True):
    """None: not given."""

    application: str | None
    batch: int | None
    rejects: str | None
    partly: Partly = "refuse"


def for_stream(options: Options) -> SinkOptions:
    """Raises `BadOption`."""
    if options.text(BATCH) is not None:
        raise BadOption(f"the option {BATCH} is for df.write: a stream counts its batches itself")
    return SinkOptions(options.label(APPLICATION), None, _rejects(options), _partly(options))


def for_batch(options: Options) -> SinkOptions:
    """Raises `BadOption`."""
    application, batch = options.label(APPLICATION), options.number(BATCH, 0, 2**63 - 1)
    if (application is None) != (batch is None):
        missing, there = (APPLICATION, BATCH) if application is None else (BATCH, APPLICATION)
        raise BadOption(f"the option {missing} is missing: with {there} it names what is written once")
    return SinkOptions(application, batch, _rejects(options), _partly(options))


def _rejects(options: Options) -> str | None:
    path = options.text(REJECTS)
    return None if path is None else folder.check(REJECTS, path)


def _partly(options: Options) -> Partly:
    return cast(Partly, options.choice(PARTLY, get_args(Partly), "refuse"))
