"""AN04's figures from 6 on, and its claims compared with what is measured."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.experiments.an04.claims import claims
from penstock.experiments.an04.hardest import KINDS, worst
from penstock.experiments.an04.study import LEVELS, study
from penstock.experiments.examples.an04 import FIRST, planned

_COSTS_MS = 0.5, 100.0
_POINTS = 150


def reproduced(queries: int, seed: int, steps: int, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Return figures, claims and the hardest problems as a JSON document; without steps, there are no problems."""
    begun = time.perf_counter()
    on_stage(f"{queries:,} random queries at {len(LEVELS)} levels of resources")
    levels = study(queries, seed)
    compared = claims(levels)
    searched = []
    for place, (kind, space) in enumerate(KINDS.items() if steps else ()):
        on_stage(f"Searching for problems that are hard for the heuristic: {kind}")
        found = worst(space, steps, np.random.default_rng((seed, place)))
        searched.append({"kind": kind, **found.as_dict()})
    return {
        "paper": "AN04",
        "queries": queries,
        "seed": seed,
        "steps": steps,
        "seconds": time.perf_counter() - begun,
        "levels": [level.as_dict() for level in levels],
        "claims": [claim.as_dict() for claim in compared],
        "figure_6": figure_6(),
        "hardest": max(searched, key=lambda each: each["error"]) if searched else None,
        "searched": searched,
    }


def figure_6() -> dict[str, list[float]]:
    """Return the rates of plans a, b and c, in results per second, at join costs from 0.5 to 100 ms."""
    costs = np.geomspace(*_COSTS_MS, _POINTS).tolist()
    return {"join_cost_ms": costs, **{name: [planned(name, cost).rate for cost in costs] for name in FIRST}}
