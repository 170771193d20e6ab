"""The errors that Penstock raises on purpose. Every message names what is wrong, and where."""

from collections.abc import Iterable
from difflib import get_close_matches


class PenstockError(Exception):
    """The base class of all errors of Penstock."""


class NetworkError(PenstockError, ValueError):
    """An invalid network of operators: the message names the operator, stream or query."""


class PolicyError(PenstockError, ValueError):
    """An unknown policy, or an invalid combination of policies."""


class ArrivalError(PenstockError, ValueError):
    """Invalid arrival times: unsorted, negative, not a number, or of an unknown stream."""


class PlanError(PenstockError, ValueError):
    """A join that cannot be planned: an invalid rate, window or predicate, or too many streams."""


class QosError(PenstockError, ValueError):
    """Invalid goals, an unknown statistic, or an invalid selector or limit."""


class ScriptError(PenstockError, ValueError):
    """An invalid script: the message has the line, the column and a caret below the place."""


class RunError(PenstockError, RuntimeError):
    """A run that cannot start or continue: no Java, an unreadable source, a folder that cannot be written."""


class RunEndedError(RunError):
    """A run that was asked for something, and has ended before."""


def nearest(name: object, names: Iterable[str]) -> str:
    """Return the hint `` Did you mean 'x'?`` for the closest of `names`, or an empty string.

    >>> nearest("hrn", ["hnr", "fifo"])
    " Did you mean 'hnr'?"
    >>> nearest("xyzzy", ["hnr", "fifo"])
    ''
    """
    close = get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
