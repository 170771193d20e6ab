"""The worked examples: the numbers printed in the papers, typed in again here, and the comparison itself."""

from collections import Counter
from fractions import Fraction

import pytest

from penstock.experiments.examples import EXAMPLES, ExampleCell
from penstock.experiments.examples.cells import decimals, row

# Typed in independently of the package's own copy.
PRINTED = {
    ("JC03", "queue size, FIFO"): [1.0, 1.2, 3.0, 2.2, 2.0, 1.2, 1.0, 0.2, 0, 1.0],
    ("JC03", "queue size, Chain"): [1.0, 1.2, 2.4, 1.6, 0.8, 0.6, 0.4, 0.2, 0, 1.0],
    ("JC03", "latency, FIFO"): [2, 3, 4, 6],
    ("JC03", "latency, Chain"): [5, 5, 5, 6],
    ("JC03", "throughput, FIFO"): [0, 0, 0.16, 0, 0.16, 0, 0.16, 0, 0.16, 0],
    ("JC03", "throughput, Chain"): [0, 0, 0, 0, 0, 0.16, 0.16, 0.16, 0.16, 0],
    ("BBDM03", "queue size, Greedy"): [1, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 0.2, 0],
    ("BBDM03", "queue size, FIFO"): [1, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0, 0.2, 0],
    ("P04", "queue size, FIFO"): [1.0, 1.9, 2.0, 2.9, 3.0, 3.9],
    ("P04", "queue size, MTIQ"): [1.0, 1.9, 2.8, 1.9, 1.9, 1.9],
    ("P04", "output so far, FIFO"): [0, 0, 0.09, 0.09, 0.18, 0.18],
    ("P04", "output so far, MTIQ"): [0] * 6,
    ("P04", "queues grow by, MTIQ"): [1 + 0.9] * 5,
    ("P04", "runs not of O1, MTIQ"): [0] * 5,
    ("SCLP08", "HR"): [12.25, 3.875],
    ("SCLP08", "HNR"): [13.0, 2.9],
    ("AN04", "utilisation"): [0.75, 1.25],
    ("AN04", "cost, tuples/s"): [500, 280, 400],
    ("AN04", "utilisation, % at 0.5 ms"): [25, 14, 20],
    ("AN04", "utilisation, % at 3 ms"): [150, 84, 120],
    ("AN04", "full output, results/s"): [1000, 1000, 1000],
    ("AN04", "plan b starts to shed, ms"): [3.571],
    ("AN04", "b and c cross, ms"): [4.255],
    ("AN04", "c ÷ b at 14 ms"): [2.30],
    ("AN04", "b becomes the worst, ms"): [16.67],
    ("AN04", "results/s at 100 ms"): [100, 100, 100],
}


def worked_examples():
    return [cell for example in EXAMPLES for cell in example.cells()]


def test_every_printed_number_is_computed():
    cells = worked_examples()
    assert [cell for cell in cells if not cell.ok] == []
    for key, numbers in PRINTED.items():
        found = [cell for cell in cells if (cell.paper, cell.series) == key]
        assert [float(cell.printed) for cell in found] == numbers
        digits = 5e-3 if key[0] == "AN04" else 1e-12  # where plans cross is not a round number
        assert [float(cell.computed) for cell in found] == pytest.approx(numbers, abs=digits)
    assert len(cells) == sum(map(len, PRINTED.values()))


def test_there_are_as_many_cells_as_the_papers_print():
    count = Counter(cell.paper for cell in worked_examples())
    assert count == {"JC03": 48, "BBDM03": 18, "P04": 34, "SCLP08": 4, "AN04": 21}


@pytest.mark.parametrize(
    ("printed", "computed", "ok"),
    [
        ("1.2", Fraction(6, 5), True),
        ("1.2", Fraction(1249, 1000), True),
        ("1.2", Fraction(126, 100), False),
        ("1.20", Fraction(121, 100), False),
        ("0.0", Fraction(1, 10), False),
        ("2.9", 2.9, True),
    ],
)
def test_agreement_is_to_the_printed_digit(printed, computed, ok):
    assert ExampleCell("P", "E", "series", "t = 0", printed, computed, decimals(printed)).ok is ok


def test_a_series_is_compared_to_its_finest_digit():
    cells = row("P", "E", "throughput", (1, 2, 3), "0 0.16 3", lambda t: Fraction(16, 100))
    assert [(cell.digits, cell.ok) for cell in cells] == [(2, False), (2, True), (2, False)]
    (cell,) = row("P", "E", "latency", (1,), "2", lambda t: Fraction(24, 10))
    assert not cell.ok
