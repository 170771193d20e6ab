"""Groups: queries of one template that run as one query."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd

from penstock.language.statements import QueryDef, WindowDef
from penstock.plan.panes import block_of, panes_fit
from penstock.plan.template import QueryTemplate, Value

QUERY = "__query"
"""The column of a group's result files with the name of the query."""


@dataclass(frozen=True)
class Member:
    """A query in a group: its number, which is never used again in the group, and its constants."""

    number: int
    values: tuple[Value, ...]
    variant: int = 0

    @property
    def window(self) -> WindowDef | None:
        """The windows of the member's aggregates, if it has any."""
        return _window(self.values)


@dataclass(frozen=True)
class Variant:
    """Constants that rows meet, and the size of the panes of those who have them."""

    values: tuple[Value, ...]
    pane: int


@dataclass(frozen=True)
class Group:
    """Queries of one template that run as one; with windows, they also have the same `starts`.

    Queries with aggregates whose rows meet the same constants share partial aggregates: they are one variant.
    """

    name: str
    template: QueryTemplate
    members: Mapping[str, Member]
    starts: tuple[tuple[str, int], ...] = ()
    used: int = 0
    """How many member numbers were assigned so far."""
    variants: Mapping[int, Variant] = field(default_factory=dict)
    used_variants: int = 0

    def accepts(self, values: tuple[Value, ...]) -> bool:
        """Whether a query with these constants may join: without constants for rows, all share their panes."""
        window = _window(values)
        if window is None or self.template.of_rows or not self.variants:
            return True
        return panes_fit(self.pane, window.pane)

    def with_member(self, name: str, values: tuple[Value, ...]) -> "Group":
        """Return the group with one more query."""
        window = _window(values)
        if window is None:
            member = Member(self.used, values)
            return replace(self, members={**self.members, name: member}, used=self.used + 1)
        met = tuple(values[place] for place in self.template.of_rows)
        for number, variant in self.variants.items():
            if variant.values == met and panes_fit(variant.pane, window.pane):
                found, pane = number, gcd(variant.pane, window.pane)
                break
        else:
            found, pane = self.used_variants, window.pane
        return replace(
            self,
            members={**self.members, name: Member(self.used, values, found)},
            used=self.used + 1,
            variants={**self.variants, found: Variant(met, pane)},
            used_variants=max(self.used_variants, found + 1),
        )

    def without(self, name: str) -> "Group":
        """Return the group without one query."""
        members = {each: member for each, member in self.members.items() if each != name}
        here = {member.variant for member in members.values()}
        variants = {number: variant for number, variant in self.variants.items() if number in here}
        return replace(self, members=members, variants=variants)

    @property
    def pane(self) -> int:
        """The size of the panes that all variants share; 0 if there are none."""
        return gcd(*(variant.pane for variant in self.variants.values()))

    @cached_property
    def blocks(self) -> Mapping[int, int]:
        """The size of the blocks of each variant's panes; 0 for none."""
        windows: dict[int, list[WindowDef]] = {number: [] for number in self.variants}
        for member in self.members.values():
            if member.window is not None:
                windows[member.variant].append(member.window)
        return {number: block_of(self.variants[number].pane, each) for number, each in windows.items()}

    @cached_property
    def query(self) -> QueryDef:
        """The query that computes the results of all members, named as the group."""
        query = self.template.reading(self.name)
        if query.aggregation is None:
            return query
        kind = next(item.window.kind for item in query.streams if item.window is not None)
        panes = WindowDef(kind, self.pane, self.pane)
        items = (replace(item, window=panes) if item.is_stream else item for item in query.items)
        return replace(query, items=tuple(items))

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names of the members by their numbers."""
        return {member.number: name for name, member in self.members.items()}


def _window(values: tuple[Value, ...]) -> WindowDef | None:
    last = values[-1] if values else None
    return last if isinstance(last, WindowDef) else None
