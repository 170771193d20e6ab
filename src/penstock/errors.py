"""The errors that Penstock raises on purpose: one family, each message naming what is wrong and where."""

from collections.abc import Iterable
from difflib import get_close_matches


class PenstockError(Exception):
    """Anything Penstock refuses; catch this to catch them all."""


class NetworkError(PenstockError, ValueError):
    """A network of operators that cannot be: the message names the operator, stream or query."""


class PolicyError(PenstockError, ValueError):
    """A policy that does not exist, or a combination that has no meaning."""


class ArrivalError(PenstockError, ValueError):
    """Arrival times that no stream can have: unsorted, negative, not a number, of an unknown stream."""


class PlanError(PenstockError, ValueError):
    """A join that cannot be planned: a rate, a window or a predicate that has no meaning, or too many streams."""


class QosError(PenstockError, ValueError):
    """Goals that cannot be pursued, a statistic that is not there, a selector or a limit that has no meaning."""


class ScriptError(PenstockError, ValueError):
    """A script that cannot be: the message has the line, the column and a caret below the place."""


class RunError(PenstockError, RuntimeError):
    """A run that cannot start or go on: no Java, a source that cannot be read, a place that cannot be written."""


def nearest(name: object, names: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest of `names`, or nothing.

    >>> nearest("hrn", ["hnr", "fifo"])
    " Did you mean 'hnr'?"
    >>> nearest("xyzzy", ["hnr", "fifo"])
    ''
    """
    close = get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
