"""`Policy`: a declaration of priority = gain ÷ cost × urgency, with combinators that derive other policies."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from penstock.errors import PolicyError
from penstock.network import Number, checked
from penstock.policies.clusters import Clusters, shown
from penstock.policies.features import Features, Term
from penstock.policies.memory_thresholds import Thresholds

UnitKind = Literal["operator", "segment", "path"]
Level = Literal["operator", "segment", "query"]
Sharing = Literal["max", "sum", "pdt"]
Tie = Literal["oldest", "static", "id"]

TURNS = "turns"
FACTORS = ("age", "length", TURNS)
RAREST = 1_000_000_000
"""The largest n of `every(n)`."""


@dataclass(frozen=True)
class Saving:
    """The policy for saving mode, and the thresholds between which it is used (JC03 §3.4)."""

    policy: "Policy"
    thresholds: Thresholds


@dataclass(frozen=True)
class Policy:
    """A scheduling policy as data: every engine reads it and finds the highest priority in its own way.

    `unit` is what is scheduled: an operator with its queues, a segment, or the path from a queue to the root.
    `gain` and `cost` are of serving one tuple; without a cost, the gain alone counts. `urgency` is how the
    priority grows while tuples wait: ``none``, or a product of ``age`` (of the oldest waiting tuple), ``length``
    (of the queue) and ``turns``. With turns, units are served in a cycle, and gain ÷ cost only decides between
    units whose turn it is. `tie` orders equal priorities. `simplified` segments cut a path at most once.
    `turn_of` says whether units or whole queries take turns. `sharing` says which of the paths that share a
    unit's first operator define its priority; None: the priority is of the unit itself, by its best path.

    The other fields are set by the combinators: see the methods.

    >>> from penstock.policies import POLICIES
    >>> str(POLICIES["hnr"])
    'hnr: S/T ÷ C'
    >>> str(POLICIES["bsd"].every(20))
    'bsd.every(20): S/T² ÷ C × age'
    """

    name: str
    unit: UnitKind
    gain: Term
    cost: Term | None
    urgency: str = "none"
    tie: tuple[Tie, ...] = ("oldest", "static", "id")
    minimises: str = ""
    source: str = ""
    simplified: bool = False
    turn_of: Literal["unit", "query"] = "unit"
    sharing: Sharing | None = "max"
    point: Level | None = None
    oldest_every: int | None = None
    clusters: Clusters | None = None
    saving: Saving | None = None
    clairvoyant: bool = False
    minds_overhead: bool = True

    def __post_init__(self) -> None:
        if self.unit not in get_args(UnitKind):
            raise PolicyError(f"policy {self.name!r} has the unknown unit {self.unit!r}")
        if not isinstance(self.gain, Term) or not isinstance(self.cost, Term | None):
            raise PolicyError(f"the gain and the cost of policy {self.name!r} must be terms")
        if not isinstance(self.urgency, str) or any(factor not in FACTORS for factor in self.factors):
            raise PolicyError(f"policy {self.name!r} has the unknown urgency {self.urgency!r}")
        if not set(self.tie) <= set(get_args(Tie)) or self.tie[-1:] != ("id",):
            raise PolicyError(f"the ties of policy {self.name!r} must end with 'id', not {self.tie!r}")
        if self.sharing is not None and self.sharing not in get_args(Sharing):
            raise PolicyError(f"shared operators are ranked by 'max', 'sum' or 'pdt', not {self.sharing!r}")
        if self.oldest_every is not None:
            _check_every(self.oldest_every)
        if self.clusters is not None and self.clairvoyant:
            raise PolicyError(f"policy {self.name!r} cannot be clustered: an oracle has no static priorities")

    def __str__(self) -> str:
        return f"{self.name}: {self.formula}"

    @property
    def formula(self) -> str:
        """The formula of the priority, as text."""
        gain = f"({self.gain})" if "−" in str(self.gain) else str(self.gain)
        static = gain if self.cost is None else f"{gain} ÷ {self.cost}"
        in_turn = TURNS in self.factors and self.cost is not None
        whole = " × ".join(self.factors) + f", then {static}" if in_turn else " × ".join((static, *self.factors))
        foreseen = ", by the real fates of the waiting tuples" if self.clairvoyant else ""
        saving = "" if self.saving is None else f"; to save memory {self.saving.policy.formula}"
        return whole + foreseen + saving

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors of the urgency."""
        return () if self.urgency == "none" else tuple(self.urgency.split(" × "))

    @property
    def scheduling_point(self) -> Level:
        """Where a run ends and the next decision is made: by default at the end of the unit."""
        if self.point is not None:
            return self.point
        return "query" if self.unit == "path" else "operator" if self.unit == "operator" else "segment"

    def cost_of(self, features: Features) -> Number | None:
        """Return the cost of serving one tuple; None if the policy ignores costs."""
        return None if self.cost is None else self.cost.of(features)

    def gain_of(self, features: Features) -> Number:
        """Return the gain of serving one tuple, times the weight of its query."""
        return weighed(self.gain.of(features), features.weight)

    def static(self, features: Features) -> Number:
        """Return gain ÷ cost: the part of the priority that does not change while tuples wait."""
        return divided(self.gain_of(features), self.cost_of(features))

    def priority(
        self,
        features: Features,
        *,
        n: Number = 1,
        overhead: Number = 0,
        age: Number = 1,
        length: Number = 1,
        turns: Number = 1,
    ) -> Number:
        """Return n·gain ÷ (overhead + n·cost) × urgency for a run of `n` tuples.

        `overhead` is the cost of a run before its first tuple: on Spark that of the job, of the unit, and of the
        window it scans. At 0 the size of the batch does not matter, and this is the papers' formula.
        """
        checked(overhead, "the overhead of a run", at_least=0, error=PolicyError)
        checked(n, "the size of a batch", above=0, error=PolicyError)
        useful = useful_share(self.cost_of(features), n, overhead if self.minds_overhead else 0)
        return self.urgent(self.static(features) * useful, age=age, length=length, turns=turns)

    def urgent(self, static: Number, *, age: Number, length: Number, turns: Number) -> Number:
        """Return the static part times the urgency; a negative one is divided by it, so waiting raises it too.

        With turns, the static part only breaks ties.
        """
        urgency: Number = 1
        for factor in self.factors:
            urgency *= age if factor == "age" else length if factor == "length" else turns
        if TURNS in self.factors:
            return urgency
        if static >= 0:
            return static * urgency
        return static / urgency if urgency > 0 else -math.inf

    # Combinators --------------------------------------------------------------------------------------------
    # They also change the policy of the saving mode, if there is one.

    def every(self, n: int) -> "Policy":
        """Give every n-th decision to the oldest tuple, whatever its priority (JC03 §4.2): nothing starves."""
        _check_every(n)
        return self._changed(f"every({n})", lambda policy: replace(policy, oldest_every=n))

    def by_age_and_length(self) -> "Policy":
        """Multiply the priority by f = τ·Q, age and queue length (JC03 §4.2); normalising keeps the order.

        A unit with a gain of 0 still starves; `every` is a guarantee.
        """
        return self._changed(
            "by_age_and_length()",
            lambda policy: replace(policy, urgency=" × ".join((*policy.factors, "age", "length"))),
        )

    def threshold(self, saving: "Policy", memory: Number | None = None, **limits: Number) -> "Policy":
        """Use the policy `saving` while memory is short (JC03 §3.4).

        `memory` may be left to the engine; `beta`, `shortest` and `longest` are those of `Thresholds`.
        """
        if not isinstance(saving, Policy):
            raise PolicyError(f"threshold needs a policy for saving memory, not {saving!r}")
        if self.saving is not None or saving.saving is not None:
            raise PolicyError("a threshold policy cannot be a mode of another threshold policy")
        if memory is not None:
            checked(memory, "the memory limit of a threshold policy", above=0, error=PolicyError)
        thresholds = Thresholds(math.inf if memory is None else memory, **limits)
        given = ({} if memory is None else {"memory": memory}) | limits
        call = ", ".join([saving.name, *(f"{name}={_plain(value)}" for name, value in given.items())])
        return replace(self, name=f"{self.name}.threshold({call})", saving=Saving(saving, thresholds))

    def clustered(self, m: int, spacing: Literal["log", "uniform"] = "log", together: bool = True) -> "Policy":
        """Compare `m` clusters instead of every unit; all units of a chosen cluster take its oldest tuple.

        If `together` is False, only one of them does.
        """
        clusters = Clusters(m, spacing, together)
        call = f"clustered({m}, {spacing!r}{'' if together else ', together=False'})"
        return self._changed(call, lambda policy: replace(policy, clusters=clusters))

    def shared(self, sharing: Sharing) -> "Policy":
        """Rank a shared operator by its best segment (max), by all (sum), or by its priority-defining tree."""
        if sharing not in get_args(Sharing):
            raise PolicyError(f"shared operators are ranked by 'max', 'sum' or 'pdt', not {sharing!r}")
        if self.sharing is None:
            raise PolicyError(f"policy {self.name!r} ranks a unit by itself, without regard to sharing")
        return self._changed(
            f"shared({sharing!r})",
            lambda policy: policy if policy.sharing is None else replace(policy, sharing=sharing),
        )

    def level(self, level: Literal["query", "operator"]) -> "Policy":
        """Decide again when a tuple leaves the query, or after every operator (SCLP08 §6)."""
        if level not in ("query", "operator"):
            raise PolicyError(f"a scheduling level is 'query' or 'operator', not {level!r}")
        return self._changed(f"level({level!r})", lambda policy: replace(policy, point=level))

    def oracle(self) -> "Policy":
        """Know each waiting tuple's fate: a bound, only in the simulator (SCLP08 §9.1.11)."""
        return self._changed("oracle()", lambda policy: replace(policy, clairvoyant=True))

    def plain(self) -> "Policy":
        """Rank as the papers do, without the overhead that a run has on Spark before its first tuple."""
        return self._changed("plain()", lambda policy: replace(policy, minds_overhead=False))

    def _changed(self, call: str, change: "Callable[[Policy], Policy]") -> "Policy":
        saving = self.saving and replace(self.saving, policy=change(self.saving.policy))
        return replace(change(self), name=f"{self.name}.{call}", saving=saving)


def _plain(value: Number) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


def _check_every(n: object) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= RAREST:
        raise PolicyError(f"every(n) needs a whole number from 1 to {RAREST:,}, not {shown(n)}")


def weighed(gain: Number, weight: Number) -> Number:
    """Return a gain times a weight; a negative gain is divided by it, so more weight never lowers a priority."""
    if gain >= 0:
        return weight * gain
    return gain / weight if weight > 0 else -math.inf


def divided(gain: Number, cost: Number | None) -> Number:
    """Return gain ÷ cost; the gain alone if there is no cost."""
    return gain if cost is None else gain / cost


def useful_share(cost: Number | None, n: Number, overhead: Number) -> Number:
    """Return the share of a run of `n` tuples that is spent on them: n·cost ÷ (overhead + n·cost)."""
    if cost is None or overhead == 0:
        return 1
    return cost / (overhead / n + cost)
