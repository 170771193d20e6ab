"""How many claims of a paper hold, in words: for the terminal and for a page."""

from collections.abc import Mapping, Sequence
from typing import Any


def counted(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return how many claims hold of those that were measured, and how many were not.

    >>> counted([{"holds": True}, {"holds": False}, {"holds": None}])
    '1 of 2 claims hold, 1 was not measured'
    """
    measured = [claim["holds"] for claim in claims if claim["holds"] is not None]
    left = len(claims) - len(measured)
    rest = f", {left} {'was' if left == 1 else 'were'} not measured" if left else ""
    return f"{sum(measured)} of {len(measured)} claims hold{rest}"
