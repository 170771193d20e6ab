"""Posynomials: sums of amounts times powers of the shares kept of streams."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

import numpy as np

from penstock.optimizer.stream_sets import Floats


@dataclass(frozen=True, eq=False)
class Posynomial:
    """A sum of terms: `amounts` times powers of shares. `powers` has a row per term and a column per stream.

    >>> both = Posynomial.of(2, [(3.0, [0]), (4.0, [0, 1])])
    >>> both.at(np.array([0.5, 0.5]))
    2.5
    """

    amounts: Floats
    powers: Floats

    @classmethod
    def of(cls, streams: int, terms: Iterable[tuple[float, Iterable[int]]] = ()) -> "Posynomial":
        """Return the sum of amounts times the shares of streams, given by position; a position may repeat."""
        amounts, rows = [], []
        for amount, places in terms:
            row = np.zeros(streams)
            for place in places:
                row[place] += 1
            amounts.append(amount)
            rows.append(row)
        return cls(np.array(amounts, float), np.array(rows, float).reshape(len(rows), streams))

    @classmethod
    def total(cls, streams: int, parts: Iterable["Posynomial"]) -> "Posynomial":
        """Return the sum of many; terms with equal powers are merged."""
        every = [cls.of(streams), *parts]
        amounts = np.concatenate([part.amounts for part in every])
        return _merged(amounts, np.concatenate([part.powers for part in every]))

    def __add__(self, other: "Posynomial") -> "Posynomial":
        """Return the sum. Of many, `total` is faster."""
        amounts = np.concatenate([self.amounts, other.amounts])
        return Posynomial(amounts, np.concatenate([self.powers, other.powers]))

    def __mul__(self, other: Union[float, "Posynomial"]) -> "Posynomial":
        """Return the product with a number or with another posynomial."""
        if not isinstance(other, Posynomial):
            return Posynomial(self.amounts * other, self.powers)
        amounts = np.multiply.outer(self.amounts, other.amounts).ravel()
        powers = self.powers[:, None, :] + other.powers[None, :, :]
        return _merged(amounts, powers.reshape(len(amounts), self.streams))

    @property
    def streams(self) -> int:
        """How many shares it depends on."""
        return int(self.powers.shape[1])

    def at(self, shares: Floats) -> float:
        """Return the value for these shares."""
        return float(self._terms(shares).sum())

    def exponents(self, shares: Floats) -> Floats:
        """Return the elasticity with respect to each share: relative growth over relative growth."""
        terms = self._terms(shares)
        found: Floats = terms @ self.powers / terms.sum()
        return found

    @property
    def is_linear(self) -> bool:
        """Whether no term is a product of shares."""
        return bool((self.powers.sum(axis=1) <= 1).all())

    @property
    def slopes(self) -> Floats:
        """Coefficients of the shares, if it is linear."""
        found: Floats = self.amounts @ self.powers
        return found

    @property
    def constant(self) -> float:
        """The sum of the terms that do not depend on any share."""
        return float(self.amounts[self._is_constant].sum())

    @property
    def variable(self) -> "Posynomial":
        """The terms that depend on a share."""
        return Posynomial(self.amounts[~self._is_constant], self.powers[~self._is_constant])

    @property
    def _is_constant(self) -> np.ndarray:
        found: np.ndarray = self.powers.sum(axis=1) == 0
        return found

    def _terms(self, shares: Floats) -> Floats:
        found: Floats = self.amounts * np.prod(np.power(shares, self.powers), axis=1)
        return found


def _merged(amounts: Floats, powers: Floats) -> Posynomial:
    if len(amounts) < 2:
        return Posynomial(amounts, powers)
    rows, places = np.unique(powers, axis=0, return_inverse=True)
    summed: Floats = np.bincount(places.ravel(), amounts, minlength=len(rows)).astype(np.float64)
    return Posynomial(summed, rows)
