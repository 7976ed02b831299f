"""Traces: one event for each operation, recorded as Parquet."""

from rockdove.core.errors import MissingExtra
from rockdove.trace.keep import Keep, KeepError
from rockdove.trace.recorder import Recorder, TraceFolderError
from rockdove.trace.schema import CLIENT, COLUMNS, OPS, SERVER, SIDES, Event, schema

__all__ = [
    "CLIENT",
    "COLUMNS",
    "OPS",
    "SERVER",
    "SIDES",
    "Event",
    "Keep",
    "KeepError",
    "MissingExtra",
    "Recorder",
    "TraceFolderError",
    "schema",
]
