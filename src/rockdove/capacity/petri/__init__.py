"""Coloured Petri nets with time and hierarchy: build, run, observe, draw and export them."""

from rockdove.capacity.interval import Interval, interval
from rockdove.capacity.petri.colour import (
    BOOL,
    INT,
    REAL,
    STRING,
    UNIT,
    Colour,
    Enumeration,
    Listing,
    Product,
    Range,
    Record,
    timed,
)
from rockdove.capacity.petri.error import (
    ColourMismatch,
    DrawingFailed,
    DuplicateName,
    InvalidExpression,
    NetError,
    UnboundVariable,
    UnknownNode,
)
from rockdove.capacity.petri.flat import FlatNet, flatten
from rockdove.capacity.petri.monitor import Average, Breakpoint, Collector, Count, Monitor
from rockdove.capacity.petri.net import HIGH, LOW, NORMAL, Net, Place, Substitution, Transition
from rockdove.capacity.petri.replication import Replications, replicate
from rockdove.capacity.petri.simulator import Binding, Simulator, Token
from rockdove.capacity.petri.space import Space, explore
from rockdove.capacity.petri.statistic import Sample, batch_means

__all__ = [
    "BOOL",
    "HIGH",
    "INT",
    "LOW",
    "NORMAL",
    "REAL",
    "STRING",
    "UNIT",
    "Average",
    "Binding",
    "Breakpoint",
    "Collector",
    "Colour",
    "ColourMismatch",
    "Count",
    "DrawingFailed",
    "DuplicateName",
    "Enumeration",
    "FlatNet",
    "Interval",
    "InvalidExpression",
    "Listing",
    "Monitor",
    "Net",
    "NetError",
    "Place",
    "Product",
    "Range",
    "Record",
    "Replications",
    "Sample",
    "Simulator",
    "Space",
    "Substitution",
    "Token",
    "Transition",
    "UnboundVariable",
    "UnknownNode",
    "batch_means",
    "explore",
    "flatten",
    "interval",
    "replicate",
    "timed",
]
