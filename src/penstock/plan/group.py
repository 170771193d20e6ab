"""Groups: queries of one template that run as one query."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.language.statements import QueryDef
from penstock.plan.template import QueryTemplate, Value

QUERY = "__query"
"""The column of a group's result files with the name of the query."""


@dataclass(frozen=True)
class Member:
    """A query in a group: its number, which is never used again in the group, and its constants."""

    number: int
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Group:
    """Queries of one template that run as one; with windows, they also have the same `starts`."""

    name: str
    template: QueryTemplate
    members: Mapping[str, Member]
    starts: tuple[tuple[str, int], ...] = ()
    used: int = 0
    """How many member numbers were assigned so far."""

    def with_member(self, name: str, values: tuple[Value, ...]) -> "Group":
        """Return the group with one more query."""
        return replace(self, members={**self.members, name: Member(self.used, values)}, used=self.used + 1)

    def without(self, name: str) -> "Group":
        """Return the group without one query."""
        return replace(self, members={each: member for each, member in self.members.items() if each != name})

    @cached_property
    def query(self) -> QueryDef:
        """The query that computes the results of all members, named as the group."""
        return self.template.reading(self.name)

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names of the members by their numbers."""
        return {member.number: name for name, member in self.members.items()}
