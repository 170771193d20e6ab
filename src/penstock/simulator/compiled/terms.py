"""Gain and cost as short programs: what a policy declares in Python, for compiled code to evaluate.

A term is called once with symbols for features, and its operations are recorded. Compiled code then does the same
operations in the same order, so that results agree to the last bit. That is needed where features change during a
run: with adaptive statistics, and for an oracle.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import PolicyError
from penstock.policies.features import Features, Term
from penstock.simulator.compiled.compile import compiled, lean

FEATURES = [field.name for field in fields(Features) if field.name != "query"]
S, C = FEATURES.index("S"), FEATURES.index("C")
NUMBER, ADD, SUBTRACT, MULTIPLY, DIVIDE = -1, -2, -3, -4, -5
WEIGHT = FEATURES.index("weight")
DEEPEST = 16


@dataclass(frozen=True)
class Symbol:
    """Part of a term: the steps of a stack machine."""

    steps: tuple[tuple[int, float], ...]

    def _with(self, other: object, code: int, reverse: bool = False) -> "Symbol":
        value = other if isinstance(other, Symbol) else Symbol(((NUMBER, float(other)),))  # type: ignore[arg-type]
        left, right = (value, self) if reverse else (self, value)
        return Symbol((*left.steps, *right.steps, (code, 0.0)))

    def __add__(self, other: object) -> "Symbol":
        return self._with(other, ADD)

    def __sub__(self, other: object) -> "Symbol":
        return self._with(other, SUBTRACT)

    def __mul__(self, other: object) -> "Symbol":
        return self._with(other, MULTIPLY)

    def __truediv__(self, other: object) -> "Symbol":
        return self._with(other, DIVIDE)

    def __radd__(self, other: object) -> "Symbol":
        return self._with(other, ADD, reverse=True)

    def __rsub__(self, other: object) -> "Symbol":
        return self._with(other, SUBTRACT, reverse=True)

    def __rmul__(self, other: object) -> "Symbol":
        return self._with(other, MULTIPLY, reverse=True)

    def __rtruediv__(self, other: object) -> "Symbol":
        return self._with(other, DIVIDE, reverse=True)


def program(term: Term | None) -> npt.NDArray[np.float64]:
    """Return the steps of a term, one per row: a code (or the place of a feature) and a number.

    >>> from penstock.policies import POLICIES
    >>> program(POLICIES["hnr"].gain).tolist()  # push S, push T, divide
    [[0.0, 0.0], [2.0, 0.0], [-5.0, 0.0]]
    """
    if term is None:
        return np.empty((0, 2))
    symbols: dict[str, Any] = {name: Symbol(((place, 0.0),)) for place, name in enumerate(FEATURES)}
    written = _called(term.of, Features(query="", **symbols))
    steps = written.steps if isinstance(written, Symbol) else ((NUMBER, float(written)),)
    if len(steps) > DEEPEST:
        raise PolicyError(f"the term {term} is too long to be evaluated while a simulation runs")
    return np.array(steps, np.float64)


def _called(of: Callable[[Features], Any], features: Features) -> Any:  # noqa: ANN401
    try:
        return of(features)
    except TypeError as error:
        raise PolicyError(
            "a policy whose priorities change during a simulation needs terms of +, −, × and ÷ alone"
        ) from error


@lean
def copy_row(into: npt.NDArray[np.float64], rows: npt.NDArray[np.float64], row: int) -> None:
    """Copy a row of features. A slice would do the same, but adds seconds of compile time."""
    for column in range(len(into)):
        into[column] = rows[row, column]


@compiled
def evaluated(steps: npt.NDArray[np.float64], features: npt.NDArray[np.float64]) -> float:
    """Return the value of a program for the features of one path."""
    stack = np.empty(DEEPEST)
    top = 0
    for place in range(len(steps)):
        code = int(steps[place, 0])
        if code >= 0:
            stack[top] = features[code]
            top += 1
        elif code == NUMBER:
            stack[top] = steps[place, 1]
            top += 1
        else:
            top -= 1
            right = stack[top]
            left = stack[top - 1]
            if code == ADD:
                stack[top - 1] = left + right
            elif code == SUBTRACT:
                stack[top - 1] = left - right
            elif code == MULTIPLY:
                stack[top - 1] = left * right
            else:
                stack[top - 1] = left / right
    return stack[0]


@compiled
def gain_of(steps: npt.NDArray[np.float64], features: npt.NDArray[np.float64]) -> float:
    """Return the gain times the weight, as `Policy.gain_of` does, operation by operation."""
    gain, weight = evaluated(steps, features), features[WEIGHT]
    if gain >= 0:
        return weight * gain
    return gain / weight if weight > 0 else -np.inf
