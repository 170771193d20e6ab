"""Operators, queries and the shared graph they form; paths, segments, progress charts, S, C, T, capacities."""

from penstock.network.builder import NetworkBuilder
from penstock.network.charts import EnvelopeSegment, ProgressChart
from penstock.network.graph import Path
from penstock.network.joins import semijoin_average
from penstock.network.network import Network
from penstock.network.numbers import Number, checked, exact
from penstock.network.operator import Edge, Operator, Query, SlidingWindow, Stream, Window
from penstock.network.panes import Panes
from penstock.network.segments import Segment

__all__ = [
    "Edge",
    "EnvelopeSegment",
    "Network",
    "NetworkBuilder",
    "Number",
    "Operator",
    "Panes",
    "Path",
    "ProgressChart",
    "Query",
    "Segment",
    "SlidingWindow",
    "Stream",
    "Window",
    "checked",
    "exact",
    "semijoin_average",
]
