"""The records that compiled code works on: one array per kind.

A record that needs a list of numbers has it in one common array, from ``…_from`` to below ``…_to``.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Records: TypeAlias = npt.NDArray[Any]

FILTER, COPIES, JOIN, AGGREGATE, CLOSE = 0, 1, 2, 3, 4
"""Kinds of operators: passes a tuple or not; makes several of one; a window join of two inputs; aggregates."""

ORDER, KINETIC, CYCLE, SCAN, LINES = 0, 1, 2, 3, 4
"""Ways to find the best unit: see `choosers`."""

AGE, LENGTH, TURNS = 0, 1, 2
"""Factors of the urgency."""

OLDEST, STATIC = 1, 2
"""Tie rules between equal priorities; then the number of the tuple and the id of the unit decide."""

LIMITED, EXHAUSTIVE, SHARE = 0, 1, 2
"""Service disciplines."""

NONE = -1
NOBODY = 2**63 - 1


def _record(floats: str, ints: str, words: str = "", short: str = "") -> np.dtype[Any]:
    kinds = (("f8", floats), ("i8", ints), ("u8", words), ("i4", short))
    return np.dtype([(name, kind) for kind, names in kinds for name in names.split()])


STREAM = _record("memory", "start total admitted fresh leaf_from leaf_to")
"""`start`: where the numbers of its tuples begin; `memory`: of one tuple in all queues that the stream fills."""

EDGE = _record(
    "cost size range",
    "operator stream other rows blocking up_from up_to cursor first last count kept_first kept_last kept",
)
"""A queue. `stream` fills it, or an operator; `other` is the other queue of its window join; `up` all below both.

What waits is a cursor into the stream, or a list; what a window join has `kept` of this input is a list too.
"""

OPERATOR = _record("selectivity low estimate", "kind column result_from result_to taken made", "salt")
"""`column` and `low`: the attribute that decides; `estimate`, `taken`, `made`: adaptive statistics."""

UNIT = _record(
    "static cost rank needed",
    "cluster place group entry_from entry_to path_from path_to route_from route_to holder_from holder_to "
    "head length waiting dirty",
)
"""`place`: by falling static part, then by id; `group`: the rank of that part; `rank`: the current static part.

`head` is the number of its oldest tuple. `path`: its paths to roots; `route`: the queues of its only path.
"""

ENTRY = _record("", "edge step foresight")
STEP = _record("", "edge child_from child_to wait_from wait_to")
"""A run as steps: the queue of an operator, the steps that follow, the queues where results wait."""

DOOR = _record("", "unit_from unit_to")
"""The units that serve a queue."""

CROWD = _record("", "unit_from unit_to waiting turns")
"""A holder of turns with its units, or a cluster; how many of its units have work; its turns in a cycle."""

LANE = _record(
    "static rank size alone",
    "group head length cursor last",
    short="place waiting stream next query part_from part_to holder_from holder_to spare",
)
"""A unit with one queue and one exit: see `lanes`. `alone`: the time of a result alone on the processor."""

RANK = _record("", "first count turn number")
"""Lanes of one static priority, the lane whose turn it is, and its tuple: see `ranks`."""

PART = _record("cost", "", "salt bar")
"""An operator on a lane: a tuple passes if the 53 bits that it draws are below the bar."""

TRACK = _record("alone ideal", "", short="part_from part_to row spare")
"""A lane of a rank: its constants, and the row of its results."""

NODE = _record("alone", "number after before", "identity")
"""A tuple in a list. `alone` is the time it would have taken so far alone on the processor."""

AGGREGATE_STATE = _record("size", "pane_from pane_to first_pane rows_a_pane stream groups", "salt")
"""An aggregate: see `windows`. `size`: of a partial row; `rows_a_pane`: 0 for panes of time."""

CLOSE_STATE = _record("", "edge aggregate size slide rows next last end_from up_from up_to", "salt")
"""A close: its windows from `next` on have not closed. `size` and `slide`: in panes; `rows`: in a pane, or 0.

`up`: all queues below.
"""

PANE = _record("start", "first rows open")
"""A pane: when it begins, its partial rows, and how many windows need them."""

LEAF = _record("until weight since", "unit")
"""A node of a kinetic tree: the winner below it, its line, and the time until which it surely wins."""
