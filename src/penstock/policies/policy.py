"""`Policy`: priority = gain ÷ cost × urgency, declared; and the combinators that make one policy of another."""

from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from penstock.errors import PolicyError
from penstock.network import Number, checked
from penstock.policies.clusters import Clusters
from penstock.policies.features import Features, Term
from penstock.policies.thresholds import Thresholds

UnitKind = Literal["operator", "segment", "path"]
Level = Literal["operator", "segment", "query"]
Sharing = Literal["max", "sum", "pdt"]
Tie = Literal["oldest", "static", "id"]

TURNS = "turns"
FACTORS = ("age", "length", TURNS)


@dataclass(frozen=True)
class Policy:
    """A scheduling policy, as data: both engines read this and find the highest priority in their own way.

    `unit` is what is scheduled: an operator with its queues, a segment, or the way from a queue to the root
    (path). `gain` and `cost` are of serving one tuple; without a cost the gain alone counts. `urgency` is how
    the priority grows while tuples wait: ``none``, or a product of ``age`` (of the oldest waiting tuple),
    ``length`` (of the queue) and ``turns``. With turns, units are served in a cycle and gain ÷ cost only
    decides between units whose turn it is. `tie` orders what is equal. `simplified` segments cut a path once at
    most; `turn_of` says whether units or whole queries take turns.

    The other fields are what the combinators set: see the methods.

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
    sharing: Sharing = "max"
    point: Level | None = None
    oldest_every: int | None = None
    clusters: Clusters | None = None
    thresholds: Thresholds | None = None
    saving: "Policy | None" = None
    clairvoyant: bool = False

    def __post_init__(self) -> None:
        if self.unit not in get_args(UnitKind):
            raise PolicyError(f"policy {self.name!r} schedules the unknown unit {self.unit!r}")
        if any(factor not in FACTORS for factor in self.factors):
            raise PolicyError(f"policy {self.name!r} has the unknown urgency {self.urgency!r}")
        if not set(self.tie) <= set(get_args(Tie)) or self.tie[-1:] != ("id",):
            raise PolicyError(f"the ties of policy {self.name!r} must end with 'id', not {self.tie!r}")

    def __str__(self) -> str:
        return f"{self.name}: {self.formula}"

    @property
    def formula(self) -> str:
        """The priority as a person reads it."""
        gain = f"({self.gain})" if "−" in str(self.gain) else str(self.gain)
        static = gain if self.cost is None else f"{gain} ÷ {self.cost}"
        in_turn = TURNS in self.factors and self.cost is not None
        whole = " × ".join(self.factors) + f", then {static}" if in_turn else " × ".join((static, *self.factors))
        return whole if self.saving is None else f"{whole}; to save memory {self.saving.formula}"

    @property
    def factors(self) -> tuple[str, ...]:
        """The urgency's factors."""
        return () if self.urgency == "none" else tuple(self.urgency.split(" × "))

    @property
    def scheduling_point(self) -> Level:
        """Where a run stops and the next decision falls: by default at the end of the unit."""
        if self.point is not None:
            return self.point
        return "query" if self.unit == "path" else "operator" if self.unit == "operator" else "segment"

    def static(self, features: Features) -> Number:
        """Return gain ÷ cost: the part of the priority that does not change while tuples wait."""
        return static_part(self.gain.of(features), self.cost_of(features))

    def cost_of(self, features: Features) -> Number | None:
        """Return the cost of serving one tuple; None where the policy does not look at costs."""
        return None if self.cost is None else self.cost.of(features)

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

        `overhead` is what a run costs before its first tuple: on Spark that of the job, of the unit, and of
        the window it scans. At 0 the size
        of the batch does not matter, and this is the papers' formula.
        """
        gain, cost = self.gain.of(features), self.cost_of(features)
        return self.value(gain, cost, n=n, overhead=overhead, age=age, length=length, turns=turns)

    def value(
        self,
        gain: Number,
        cost: Number | None,
        *,
        n: Number = 1,
        overhead: Number = 0,
        age: Number = 1,
        length: Number = 1,
        turns: Number = 1,
    ) -> Number:
        """Return the priority for a gain and a cost that are known already, as of a shared set."""
        value = 1 if TURNS in self.factors else static_part(gain, cost, n, overhead)
        for factor in self.factors:
            value *= {"age": age, "length": length, TURNS: turns}[factor]
        return value

    # Combinators --------------------------------------------------------------------------------------------

    def every(self, n: int) -> Self:
        """Every n-th decision goes to the oldest tuple, whatever its priority (JC03 §4.2): nothing starves."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise PolicyError(f"every(n) needs a whole number above 0, not {n!r}")
        return replace(self, name=f"{self.name}.every({n})", oldest_every=n)

    def by_age_and_length(self) -> Self:
        """Multiply the priority by f = τ·Q, age and queue length (JC03 §4.2); normalising changes no order."""
        return replace(
            self,
            name=f"{self.name}.by_age_and_length()",
            urgency=" × ".join((*self.factors, "age", "length")),
        )

    def threshold(self, saving: "Policy", memory: Number | None = None, beta: Number = 0.9) -> Self:
        """Work by `saving` while memory is short (JC03 §3.4); `memory` may be left to the engine."""
        limits = Thresholds(beta=beta) if memory is None else Thresholds(memory, beta)
        if self.saving is not None or saving.saving is not None:
            raise PolicyError("a threshold policy cannot be a mode of another threshold policy")
        return replace(self, name=f"{self.name}.threshold({saving.name})", thresholds=limits, saving=saving)

    def clustered(self, m: int, spacing: Literal["log", "uniform"] = "log") -> Self:
        """Compare `m` clusters instead of every unit; a chosen cluster's units all take its oldest tuple."""
        return replace(self, name=f"{self.name}.clustered({m}, {spacing!r})", clusters=Clusters(m, spacing))

    def shared(self, sharing: Sharing) -> Self:
        """Rank a shared operator by its best segment (max), by all (sum), or by its priority-defining tree."""
        if sharing not in get_args(Sharing):
            raise PolicyError(f"shared operators are ranked by 'max', 'sum' or 'pdt', not {sharing!r}")
        return replace(self, name=f"{self.name}.shared({sharing!r})", sharing=sharing)

    def level(self, level: Literal["query", "operator"]) -> Self:
        """Decide anew when a tuple leaves the query, or after every operator (SCLP08 §6)."""
        if level not in ("query", "operator"):
            raise PolicyError(f"a scheduling level is 'query' or 'operator', not {level!r}")
        return replace(self, name=f"{self.name}.level({level!r})", point=level)

    def oracle(self) -> Self:
        """Know each waiting tuple's fate: a bound, in the simulator only (SCLP08 §9.1.11)."""
        return replace(self, name=f"{self.name}.oracle()", clairvoyant=True)


def static_part(gain: Number, cost: Number | None, n: Number = 1, overhead: Number = 0) -> Number:
    """Return n·gain ÷ (overhead + n·cost), written so that with no overhead `n` cancels to the last bit."""
    if cost is None:
        return gain
    if overhead == 0:
        return gain / cost
    return gain / (overhead / checked(n, "the size of a batch", above=0, error=PolicyError) + cost)
