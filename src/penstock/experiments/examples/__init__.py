"""The papers' worked examples: every printed number beside the one computed here."""

from penstock.experiments.examples.bbdm03 import example_1 as bbdm03_example_1
from penstock.experiments.examples.cells import Cell
from penstock.experiments.examples.jc03 import table_2 as jc03_table_2
from penstock.experiments.examples.p04 import table_1_1 as p04_table_1_1
from penstock.experiments.examples.sclp08 import example_1 as sclp08_example_1

EXAMPLES = (jc03_table_2, bbdm03_example_1, p04_table_1_1, sclp08_example_1)
"""One function an example, in the order they are shown; each returns its cells."""


def worked_examples() -> list[Cell]:
    """Return every cell of every worked example."""
    return [cell for example in EXAMPLES for cell in example()]


__all__ = ["EXAMPLES", "Cell", "worked_examples"]
