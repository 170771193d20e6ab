"""Virtual time: the compiled simulator, its plain reference, and the fractional engine of the worked examples.

`simulate` and what belongs to it are in `penstock.simulator.simulate`, which loads numba; this does not.
"""

from penstock.simulator.fractional import run_fractional
from penstock.simulator.rules import BBDM03, JC03, P04, SCLP08, Rules
from penstock.simulator.trace import FractionalDeparture, FractionalTrace, MemorySample, ServedRun

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
