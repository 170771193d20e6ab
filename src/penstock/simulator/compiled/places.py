"""Where the numbers of a run are in its arrays of real and whole numbers, and in the rows of its results."""

NOW, MEMORY, AREA, SINCE, PEAK, START, NEXT_CHECK, BIN_WIDTH, BIN, BIN_END = range(10)
"""Places of the real numbers that a run keeps."""

FREE, FREE_COUNT, ARRIVED, DECISIONS, MODE, WAITING, DEPARTED, SAMPLED, RAN, FRESH, CHANGED, RECHECK = range(12)
"""Places of the whole numbers that a run keeps.

`FREE`: where the free places of a pool begin, and how many they are. `DEPARTED`, `SAMPLED`, `RAN`: lines of the
logs. `FRESH`: whether tuples have arrived that units do not know of. `CHANGED`: how many units must be ranked
again. `RECHECK`: whether joins that wait for their inputs may go on.
"""

LAST_HOLDER, SWEEP, INTS = 12, 14, 16
"""Of each mode: who was served last, and in which sweep of the cycle; and how many whole numbers there are."""

COUNT, SUM_R, MAX_R, SQUARES_R, SUM_H, MAX_H, SQUARES_H, SPARE = range(8)
BIN_AREA, BIN_PEAK = 8, 9
"""Columns of the results of a query, and of an interval: R is response, H slowdown."""

FINISHED, CHANGED_MODE, PAUSED = 0, 1, 2
"""Why a loop ends."""

POOL, OUT, LEFT, TODO = range(4)
"""Buffers of tuples: all that wait, the output of an operator, what will wait, what goes on in the same run."""

DEPARTURES, SAMPLES, RUNS = range(3)
"""Logs of events."""
