"""A figure of a paper, measured again: data only; `penstock.report` draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """Lines over x, one per policy: ``lines[name] = [(x, y), …]``; with `bars`, x are words.

    Lines that may cover others are `dashed`.
    """

    number: str
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[Any, float]]] = field(default_factory=dict)
    logarithmic: bool = False
    bars: bool = False
    dashed: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the figure as JSON."""
        return asdict(self)
