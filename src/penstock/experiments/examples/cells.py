"""A worked example: the numbers a paper prints, each with the computed one it is compared with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.network import Number, exact


@dataclass(frozen=True)
class ExampleCell:
    """A number as `printed` and as `computed`: equal if they agree in every printed digit.

    `digits` after the point are compared: those printed, or more where a 0 stands in a series of 0.16s.

    >>> ExampleCell("P", "Table 1", "queue size", "t = 1", "0.17", Fraction(1, 6), digits=2).ok
    True
    >>> ExampleCell("P", "Table 1", "queue size", "t = 1", "0", Fraction(1, 6), digits=2).ok
    False
    """

    paper: str
    example: str
    series: str
    at: str
    printed: str
    computed: Number
    digits: int

    @property
    def quantity(self) -> str:
        """What the number is."""
        return f"{self.series}, {self.at}"

    @property
    def ok(self) -> bool:
        """Whether the computed number rounds to the printed one."""
        half_a_digit = Fraction(1, 2 * 10**self.digits)
        return abs(exact(self.computed) - Fraction(self.printed)) <= half_a_digit

    def as_json(self) -> dict[str, object]:
        """Return the cell as `penstock examples --json` prints it."""
        return {
            "paper": self.paper,
            "example": self.example,
            "quantity": self.quantity,
            "printed": float(self.printed),
            "computed": float(self.computed),
            "ok": self.ok,
        }


@dataclass(frozen=True)
class Example:
    """A worked example of a paper; `note` says what a reader of the comparison must know."""

    paper: str
    name: str
    cells: Callable[[], list[ExampleCell]]
    note: str = ""


def row(
    paper: str, example: str, series: str, times: Sequence[int], printed: str, computed: Callable[[int], Number]
) -> Iterator[ExampleCell]:
    """Yield the cells of one quantity at several times; `printed` has the paper's numbers, space between.

    All are compared to the finest digit of the series, and to one after the point at least.
    """
    numbers = printed.split()
    digits = max(1, *(decimals(number) for number in numbers))
    for time, number in zip(times, numbers, strict=True):
        yield ExampleCell(paper, example, series, f"t = {time}", number, computed(time), digits)


def decimals(printed: str) -> int:
    """Return how many digits after the point are printed."""
    return len(printed.partition(".")[2])
