"""Goals: statistics to minimise or maximise, and their weights (P04 §5.1)."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from penstock.errors import QosError, nearest
from penstock.qos.statistics import STATISTICS

Sense = Literal["minimize", "maximize"]
_SPELLINGS = {"minimise": "minimize", "maximise": "maximize"}
_SUM_WITHIN = 1e-6
_LONGEST = 2000
_MOST = 32
_HEAVIEST = 1_000_000


@dataclass(frozen=True)
class Goal:
    """A statistic to minimise or maximise, and its weight among the goals."""

    statistic: str
    sense: Sense
    weight: float = 1.0

    def __post_init__(self) -> None:
        sense = _SPELLINGS.get(self.sense, self.sense)
        if sense not in get_args(Sense):
            hint = nearest(sense, get_args(Sense))
            raise QosError(f"a goal must begin with 'minimize' or 'maximize', not {self.sense!r}.{hint}")
        object.__setattr__(self, "sense", sense)
        if self.statistic not in STATISTICS or STATISTICS[self.statistic].of != "plan":
            known = [name for name, each in STATISTICS.items() if each.of == "plan"]
            hint = nearest(self.statistic, known) or f" There are {', '.join(sorted(known))}."
            raise QosError(f"there is no statistic {self.statistic!r} to {sense}.{hint}")
        object.__setattr__(self, "weight", _weight(self.weight, f"the weight of goal {self.statistic!r}"))
        if self.weight > 1:
            raise QosError(f"the weight of goal {self.statistic!r} must be from 0 to 1, not {self.weight:g}")

    def __str__(self) -> str:
        return f"{self.sense} {self.statistic} {self.weight:.12g}"


@dataclass(frozen=True)
class Goals:
    """All goals; their weights sum to 1. `queries` has the weights of queries' results that are not 1.

    Goals are `implied` if only weights of queries were given. A named policy is then not changed.

    >>> goals = Goals.parse("minimize avg_slowdown 0.7, minimize queue_memory 0.3, weigh alarms 5")
    >>> [str(goal) for goal in goals], dict(goals.queries)
    (['minimize avg_slowdown 0.7', 'minimize queue_memory 0.3'], {'alarms': 5.0})
    >>> print(Goals.parse("latency"))
    minimize avg_response 1
    """

    goals: tuple[Goal, ...]
    queries: Mapping[str, float] = field(default_factory=dict, hash=False)
    implied: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.goals, str):
            raise QosError(f"use Goals.parse({self.goals!r}) to read goals from a text")
        goals = tuple(self.goals)
        object.__setattr__(self, "goals", goals)
        if not goals:
            raise QosError("at least one goal is needed")
        names = [goal.statistic for goal in goals]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise QosError(f"there are two goals for {twice!r}: give one, with the sum of their weights")
        total = sum(goal.weight for goal in goals)
        if abs(total - 1) > _SUM_WITHIN:
            each = " + ".join(f"{goal.weight:g}" for goal in goals)
            raise QosError(f"the weights of goals must sum to 1, but {each} is {total:g}")
        weights = {name: _weight(weight, f"the weight of query {name!r}") for name, weight in self.queries.items()}
        heavy = next((name for name, weight in weights.items() if weight > _HEAVIEST), None)
        if heavy is not None:
            raise QosError(
                f"the weight of query {heavy!r} must be from 0 to {_HEAVIEST:,}, not {weights[heavy]:g}"
            )
        object.__setattr__(self, "queries", weights)

    def __iter__(self) -> Iterator[Goal]:
        return iter(self.goals)

    def __str__(self) -> str:
        weighed = [f"weigh {name} {weight:.12g}" for name, weight in self.queries.items()]
        return ", ".join(weighed if self.implied and weighed else [*map(str, self.goals), *weighed])

    @classmethod
    def of(cls, given: "str | Goals | Mapping[str, float]") -> "Goals":
        """Return goals from `Goals`, a text, or a mapping from statistics to weights, each in its usual sense.

        >>> print(Goals.of({"output_rate": 0.25, "queue_size": 0.75}))
        maximize output_rate 0.25, minimize queue_size 0.75
        """
        if isinstance(given, Goals):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Mapping):
            raise QosError(f"goals must be a text, a mapping from statistic to weight, or Goals, not {given!r}")
        unknown = next((name for name in given if name not in STATISTICS), None)
        if unknown is not None:
            raise QosError(f"there is no statistic {unknown!r}.{nearest(unknown, STATISTICS)}")
        return cls(tuple(Goal(name, STATISTICS[name].sense, weight) for name, weight in given.items()))

    @classmethod
    def parse(cls, text: str) -> "Goals":
        """Read goals from a text: a template's name or a list of goals, and optionally weights of queries."""
        if len(text) > _LONGEST:
            raise QosError(f"goals may have at most {_LONGEST} characters, not {len(text)}")
        goals: list[Goal] = []
        queries: dict[str, float] = {}
        for part in (part.strip() for part in text.split(",")):
            words = part.split()
            if not words:
                raise QosError(f"a goal is missing in {text!r}: write 'minimize STATISTIC WEIGHT' between commas")
            if words[0].lower() == "weigh":
                name, weight = _weighed(part, words)
                if name in queries:
                    raise QosError(f"query {name!r} has two weights")
                queries[name] = weight
            elif len(words) == 1 and re.fullmatch(r"\w+", words[0]):
                if goals:
                    raise QosError(f"template {words[0]!r} cannot be combined with other goals")
                goals += _template(words[0])
            else:
                goals.append(_goal(part, words))
        implied = not goals
        if implied:
            goals += TEMPLATES["balanced"]
        if len(goals) > _MOST:
            raise QosError(f"there may be at most {_MOST} goals, not {len(goals)}")
        return cls(tuple(goals), queries, implied)

    def weighing(self, queries: Mapping[str, float]) -> "Goals":
        """Return the same goals with other weights of queries."""
        return replace(self, queries=dict(queries))

    def loss(self, values: Mapping[str, float]) -> float | None:
        """Return the loss of these statistics: lower is better. None if the value of a goal is unknown.

        It is the weighted geometric mean of statistics to minimise and of the inverses of those to maximise. So
        twice the response, or half the rate, costs the same in any unit.

        >>> goals = Goals.parse("minimize avg_response 0.5, maximize output_rate 0.5")
        >>> round(goals.loss({"avg_response": 4.0, "output_rate": 9.0}), 4)
        0.6667
        """
        total = 0.0
        for goal in self.goals:
            if not goal.weight:
                continue
            value = values.get(goal.statistic)
            if value is None or math.isnan(value):
                return None
            sign = 1 if goal.sense == "minimize" else -1
            total += sign * goal.weight * math.log(max(value, _LEAST))
        return math.exp(total)


_LEAST = 1e-12


def _weight(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise QosError(f"{what} must be a number of at least 0, not {value!r}")
    return float(value)


def _number(word: str, part: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise QosError(f"the weight in {part!r} must be a number, not {word!r}") from None


def _goal(part: str, words: list[str]) -> Goal:
    if len(words) not in (2, 3):
        raise QosError(f"{part!r} is not a goal: write 'minimize STATISTIC WEIGHT' or 'maximize STATISTIC WEIGHT'")
    return Goal(words[1], words[0].lower(), _number(words[2], part) if len(words) == 3 else 1.0)  # type: ignore[arg-type]


def _weighed(part: str, words: list[str]) -> tuple[str, float]:
    if len(words) != 3:
        raise QosError(f"{part!r} is not the weight of a query: write 'weigh QUERY WEIGHT'")
    return words[1], _number(words[2], part)


def _template(name: str) -> tuple[Goal, ...]:
    if name.lower() not in TEMPLATES:
        hint = nearest(name, TEMPLATES) or f" There are {', '.join(TEMPLATES)}."
        raise QosError(f"there is no goal template {name!r}.{hint} A goal is written 'minimize STATISTIC WEIGHT'")
    return TEMPLATES[name.lower()]


TEMPLATES: Mapping[str, tuple[Goal, ...]] = {
    "latency": (Goal("avg_response", "minimize"),),
    "memory": (Goal("queue_memory", "minimize"),),
    "fairness": (Goal("avg_slowdown", "minimize", 0.5), Goal("max_slowdown", "minimize", 0.5)),
    "throughput": (Goal("output_rate", "maximize"),),
    "balanced": (
        Goal("queue_size", "minimize", 0.33),
        Goal("avg_response", "minimize", 0.33),
        Goal("output_rate", "maximize", 0.34),
    ),
}
"""Goals by name. `balanced` is P04's default: queue size, delay and output rate, as equal as two digits allow."""

DEFAULT = Goals(TEMPLATES["balanced"])
