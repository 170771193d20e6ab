"""`simulate`: many tuples, many queries, any policy, in virtual time; compiled, and the same for the same seed."""

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
import numpy.typing as npt

from penstock.errors import NetworkError, QosError
from penstock.network import Network
from penstock.policies import Policy, policy_named
from penstock.qos import Selection
from penstock.simulator.layout.arrivals import checked_times
from penstock.simulator.options import Adaptive, SimulationKeywords, SimulationOptions, whole_number
from penstock.simulator.policy_selection import checked_drifts
from penstock.simulator.result import Result
from penstock.simulator.run import SimulationRun

__all__ = ["Adaptive", "SimulationKeywords", "SimulationOptions", "simulate"]


def simulate(
    net: Network,
    arrivals: Mapping[str, Sequence[float] | npt.NDArray[np.float64]],
    policy: str | Policy | Selection,
    seed: int = 0,
    **options: Unpack[SimulationKeywords],
) -> Result:
    """Run `policy` on `net` until every arrival is served, and return the result.

    `arrivals` are times in seconds for each stream, ascending from 0. A tuple's fate at an operator is a hash of
    (seed, tuple, operator): every policy meets the same tuples. A run takes one tuple, unless `service` says
    otherwise, through the operators of its unit without stopping.

    - `setup_cost`: c0, paid once per run; policies count it in their priorities, unless they are ``plain()``.
    - `memory`: the limit of a threshold policy, and of shedding.
    - `blocking`: window joins take their inputs in the order of time, and wait while one is empty (BBDM03), unless
      nothing can come through it any more. Otherwise they take tuples as they are served: results are the same
      pairs in another order, and windows of rows hold the rows that were served last.
    - `attributes`: of tuples, for fates that follow from them.
    - `adaptive`: learn selectivities, and rank by them.
    - `decision_cost`: time of each priority computation and each comparison; `search` says how many there are
      (SCLP08 §6.2, §9.3).
    - `detail`: keep every departure, decision and change of memory.
    - `by_scan`: compare all units for every decision, as a baseline for the structures that do not; results are
      the same.
    - `drifts`: other selectivities from a time on, as (seconds, {operator: selectivity}).
    - `shed`: set drop boxes at the streams when the load stays above the headroom or memory is at its limit, and
      open them again; checked as often as a selection takes samples, every second. Or the `SheddingRules`.
    - `weights`: of queries, by name; they multiply gains. A selection has them in its goals (`weigh`).

    With a `Selection`, the policy is chosen during the run, by measured statistics. Selectivities are then learnt,
    and policies rank by the estimates. That is also so with drifts or drop boxes alone.

    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> result = simulate(net, {"s": [0, 0, 0]}, "hnr", seed=3)
    >>> result.metrics["outputs"], result.metrics["peak_memory"], result.decisions
    (3.0, 6.0, 6)
    """
    if not isinstance(net, Network):
        raise NetworkError(f"a simulation needs a Network, not {net!r}")
    if not net.queries:
        raise NetworkError("a simulation needs a network with at least one query")
    chosen = SimulationOptions.of(options)
    if chosen.weights:
        net = net.weighed(chosen.weights)
    times = checked_times(net, arrivals)
    if chosen.attributes is not None:
        chosen.attributes.check(net, times)
    selection = policy if isinstance(policy, Selection) else None
    if chosen.weights and selection is not None:
        raise QosError("the weights of queries belong to the goals of a selection: weigh QUERY NUMBER")
    if (chosen.drifts or chosen.shed) and selection is None:
        selection = Selection(candidates=(policy,))  # type: ignore[arg-type]
    first = policy_named(selection.candidates[0] if selection else policy)  # type: ignore[arg-type]
    run = SimulationRun(net, times, first, whole_number(seed, "a seed"), chosen)
    if selection is None:
        return run.result()
    return run.selected(selection, checked_drifts(net, chosen.drifts))
