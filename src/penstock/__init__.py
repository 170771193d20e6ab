"""Penstock: many continuous queries over bursty streams, and the scheduler that decides what runs next."""

from penstock.errors import ArrivalError, NetworkError, PenstockError, PolicyError
from penstock.network import Network, NetworkBuilder, Operator, Query, Stream, Window
from penstock.policies import POLICIES, Policy

__version__ = "0.1.0"

__all__ = [
    "POLICIES",
    "ArrivalError",
    "Network",
    "NetworkBuilder",
    "NetworkError",
    "Operator",
    "PenstockError",
    "Policy",
    "PolicyError",
    "Query",
    "Stream",
    "Window",
]
