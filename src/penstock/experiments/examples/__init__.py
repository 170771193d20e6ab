"""The papers' worked examples: every printed number beside the one computed here."""

from penstock.experiments.examples import an04, bbdm03, jc03, p04, sclp08
from penstock.experiments.examples.cells import Example, ExampleCell

EXAMPLES: tuple[Example, ...] = (
    jc03.TABLE_2,
    bbdm03.EXAMPLE_1,
    p04.TABLE_1_1,
    p04.SECTION_1_3,
    sclp08.EXAMPLE_1,
    an04.FIGURE_1,
    an04.EXAMPLE_1,
    an04.FIGURE_6,
)
"""In the order they are shown."""

__all__ = ["EXAMPLES", "Example", "ExampleCell"]
