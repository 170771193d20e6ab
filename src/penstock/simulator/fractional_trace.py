"""The trace of a run of the fractional engine: queue memory over time, every departure, every run."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from penstock.network import Number


@dataclass(frozen=True)
class FractionalDeparture:
    """Part of an input tuple leaves a query, as a result (`amount` above 0) or discarded (0)."""

    time: Number
    query: str
    number: int
    arrival: Number
    amount: Number
    alone: Number
    """Time from arrival to departure, had it been alone on the processor."""
    ideal: Number
    """T of the query."""

    @property
    def response(self) -> Number:
        """R = departure − arrival (SCLP08 Definition 1)."""
        return self.time - self.arrival

    @property
    def slowdown(self) -> Number:
        """H = 1 + (D_actual − D_ideal) ÷ T (SCLP08 §5.1.2); for a single stream that is R ÷ T."""
        return 1 + (self.response - self.alone) / self.ideal


@dataclass(frozen=True)
class ServedRun:
    """The units that were chosen, and when they ran."""

    start: Number
    end: Number
    units: tuple[str, ...]


@dataclass(frozen=True)
class MemorySample:
    """Queue memory at an instant: after arrivals and completions, and after the dispatch that followed."""

    time: Number
    before: Number
    after: Number


@dataclass(frozen=True)
class FractionalTrace:
    """Everything that happened in a run of the fractional engine."""

    samples: tuple[MemorySample, ...]
    departures: tuple[FractionalDeparture, ...]
    runs: tuple[ServedRun, ...]

    @cached_property
    def results(self) -> tuple[FractionalDeparture, ...]:
        """The departures that are results."""
        return tuple(departure for departure in self.departures if departure.amount > 0)

    def queue_at(self, time: Number) -> Number:
        """Return the queue memory at `time`: after arrivals and completions, before the next dispatch."""
        place = bisect_right(self.samples, time, key=lambda sample: sample.time) - 1
        if place < 0:
            return 0
        sample = self.samples[place]
        return sample.before if sample.time == time else sample.after

    def output_between(self, after: Number, until: Number) -> Number:
        """Return the tuples output later than `after` and not later than `until`."""
        return sum((r.amount for r in self.results if after < r.time <= until), start=0)

    @property
    def peak_memory(self) -> Number:
        """The most memory the queues took."""
        return max((sample.before for sample in self.samples), default=0)

    @property
    def mean_memory(self) -> Number:
        """Queue memory averaged over time, from the first event to the last."""
        area = sum((here.after * (there.time - here.time) for here, there in pairwise(self.samples)), start=0)
        length = self.samples[-1].time - self.samples[0].time if self.samples else 0
        return area / length if length else 0

    @property
    def metrics(self) -> dict[str, float]:
        """Average, maximum and ℓ2 norm of response and slowdown over the results, outputs, memory.

        A result that is a fraction of a tuple counts with its fraction. Without results there are only outputs
        and memory.
        """
        outputs = sum(result.amount for result in self.results)
        metrics = {"outputs": float(outputs)}
        for name in ("response", "slowdown") if self.results else ():
            values = [(getattr(result, name), result.amount) for result in self.results]
            metrics[f"avg_{name}"] = float(sum(value * amount for value, amount in values) / outputs)
            metrics[f"max_{name}"] = float(max(value for value, _ in values))
            metrics[f"l2_{name}"] = math.sqrt(sum(value * value * amount for value, amount in values))
        return metrics | {"mean_memory": float(self.mean_memory), "peak_memory": float(self.peak_memory)}
