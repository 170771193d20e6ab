"""Virtual time: the compiled simulator, its plain reference, and the fractional engine of the worked examples.

`simulate` and what belongs to it are in `penstock.simulator.simulate`, which loads numba; this does not.
"""

from penstock.simulator.fractional import run_fractional
from penstock.simulator.fractional_trace import FractionalDeparture, FractionalTrace, MemorySample, ServedRun
from penstock.simulator.paper_conventions import BBDM03, JC03, P04, SCLP08, Rules

__all__ = [
    "BBDM03",
    "JC03",
    "P04",
    "SCLP08",
    "FractionalDeparture",
    "FractionalTrace",
    "MemorySample",
    "Rules",
    "ServedRun",
    "run_fractional",
]
