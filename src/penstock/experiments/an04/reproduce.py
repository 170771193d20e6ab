"""All of AN04's figures from 6 on, with its claims beside what is found here."""

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
    """Return the figures, the claims and the hardest problems, as JSON has them; without steps, none of these."""
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
    """Return the rates of plans a, b and c, in results a second, at join costs from half a millisecond to 100."""
    costs = np.geomspace(*_COSTS_MS, _POINTS).tolist()
    return {"join_cost_ms": costs, **{name: [planned(name, cost).rate for cost in costs] for name in FIRST}}
