"""`Plan`: the queries of a script as one network of shared operators, with the step of each operator."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd

from penstock.language.script import Script
from penstock.language.statements import QueryDef, WindowDef
from penstock.network import Edge, Network, Query
from penstock.plan.aggregate_steps import NO_FIRST
from penstock.plan.derived import Starts, derived_below, queries_below
from penstock.plan.group import Group
from penstock.plan.operators import OperatorBuilder
from penstock.plan.panes import block_of
from penstock.plan.steps import POSITION, Aggregate, Close, Columns, Join, Lookup, Order, Step
from penstock.plan.template import QueryTemplate, Value, template_of
from penstock.plan.translate import Steps, steps_of

MayGroup = Callable[[QueryTemplate], bool]
"""Whether queries of a template may run as one group."""


def always(template: QueryTemplate) -> bool:
    """Let queries of any template run as one group."""
    return True


def never(template: QueryTemplate) -> bool:
    """Let no queries run as one group."""
    return False


@dataclass(frozen=True)
class Plan:
    """A network whose operators can be executed. Queries can be added and removed; equal operators are shared.

    >>> script = Script.parse('''
    ...     CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 10);
    ...     CREATE QUERY q AS SELECT a FROM s WHERE b > 3;
    ...     CREATE QUERY r AS SELECT b FROM s WHERE b > 3;
    ... ''')
    >>> plan = Plan.of(script)
    >>> [(op.name, op.inputs) for op in plan.network.operators]
    [('select.1', ('s',)), ('project.2', ('select.1',)), ('project.3', ('select.1',))]
    >>> plan.steps["select.1"].sql
    '(`b` > 3)'
    """

    network: Network = field(default_factory=Network)
    steps: Mapping[str, Step] = field(default_factory=dict)
    queries: Mapping[str, QueryDef] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    """Groups of queries that run as one, by their name in the network."""
    templates: Mapping[str, tuple[QueryTemplate, tuple[Value, ...]]] = field(default_factory=dict)
    """The template and the constants of every query that could be in a group."""
    used: int = 0
    """How many numbers were assigned to operators and groups; none is assigned twice."""

    @classmethod
    def of(cls, script: Script, may_group: MayGroup = always) -> "Plan":
        """Return the plan of all queries of a script; those that differ only in constants form a group."""
        found = {name: template_of(query) for name, query in script.queries.items()}
        templates = {name: template for name, template in found.items() if template is not None}
        different = Counter(
            template for template, _ in set(templates.values())
        )  # equal queries share all operators
        grouped = {template for template, count in different.items() if count > 1 and may_group(template)}
        groups: list[Group] = []
        by_template: dict[QueryTemplate, list[int]] = {}
        for name, (template, values) in templates.items():
            if template not in grouped:
                continue
            places = by_template.setdefault(template, [])
            place = next((each for each in places if groups[each].accepts(values)), len(groups))
            if place == len(groups):
                groups.append(Group(f"group {place + 1}", template, {}, _starts_of(template, {})))
                places.append(place)
            groups[place] = groups[place].with_member(name, values)
        members = {name: group for group in groups for name in group.members}
        builder = OperatorBuilder(Network())
        roots: dict[str, Query] = {}
        for query in script.queries.values():
            group = members.get(query.name)
            whole = query if group is None else group.query
            if whole.name not in roots:
                _derive(builder, whole, _NO_STARTS)
                roots[whole.name] = Query(whole.name, builder.add(whole, steps_of(whole), _size(group)))
        network = Network(builder.streams, tuple(builder.operators), tuple(roots.values()))
        return cls(
            network,
            builder.steps,
            dict(script.queries),
            {group.name: group for group in groups},
            templates,
            len(builder.operators) + len(groups),
        )

    def runs_as(self, name: str) -> str:
        """Return the name of a query in the network: its own, or that of its group."""
        return self._group_names.get(name, name)

    def served_by(self, name: str) -> tuple[str, ...]:
        """Return the queries that a query of the network computes: itself, or the members of a group."""
        group = self.groups.get(name)
        return (name,) if group is None else tuple(group.members)

    @cached_property
    def roots(self) -> Mapping[str, tuple[str, ...]]:
        """The queries of the network whose root is an operator, by operator."""
        found: dict[str, tuple[str, ...]] = {}
        for query in self.network.queries:
            found[query.root] = (*found.get(query.root, ()), query.name)
        return found

    @cached_property
    def _group_names(self) -> Mapping[str, str]:
        return {name: group.name for group in self.groups.values() for name in group.members}

    def with_query(self, query: QueryDef, starts: Starts | None = None, may_group: MayGroup = always) -> "Plan":
        """Return the plan with one more query, which sees rows from `starts` on.

        If there is already a query of the same template, the two are not merged: the new query starts a group for
        all that follow, and the older one continues by itself.
        """
        found = template_of(query)
        since_rows = starts.rows if starts else {}
        if found is None:
            return self._with_steps(query, steps_of(query, since_rows), 1, starts)
        template, values = found
        plan = replace(
            self, queries={**self.queries, query.name: query}, templates={**self.templates, query.name: found}
        )
        since = _starts_of(template, since_rows)
        for group in self.groups.values():
            if group.template == template and group.starts == since and group.accepts(values):
                return plan._with_group(group.with_member(query.name, values))
        alike = [others for other, others in self.templates.values() if other == template]
        if not alike or values in alike or not may_group(template):
            return plan._with_steps(query, steps_of(query, since_rows), 1, starts)
        group = Group(f"group {self.used + 1}", template, {}, since).with_member(query.name, values)
        return replace(plan, used=self.used + 1)._founding(group, steps_of(group.query, since_rows), starts)

    def _founding(self, group: Group, steps: Steps, starts: Starts | None = None) -> "Plan":
        plan = self._with_steps(group.query, steps, _size(group), starts)
        return replace(plan, queries=self.queries, groups={**self.groups, group.name: group})

    def _with_group(self, group: Group) -> "Plan":
        """Return the plan with a changed group. Its partial aggregates get panes that fit the windows of all."""
        before = self.groups.get(group.name)
        plan = replace(self, groups={**self.groups, group.name: group})
        if before is None or group.template.of_rows or gcd(before.pane, group.pane) == before.pane:
            return plan
        closing = ((name, step) for name, step in self.steps.items() if isinstance(step, Close))
        [close] = [name for name, step in closing if step.group == group.name]
        below = self.network.operator(close).inputs[0]
        step = self.steps[below]
        assert isinstance(step, Aggregate)
        return replace(plan, steps={**self.steps, below: replace(step, pane=gcd(step.pane, group.pane))})

    def _with_steps(self, query: QueryDef, steps: Steps, members: int = 1, starts: Starts | None = None) -> "Plan":
        builder = OperatorBuilder(self.network, self.used, self.steps)
        _derive(builder, query, starts or _NO_STARTS)
        root = builder.add(query, steps, members)
        return replace(
            self,
            network=self.network.register(query.name, root, builder.operators, builder.streams),
            steps={**self.steps, **builder.steps},
            queries={**self.queries, query.name: query},
            used=self.used + len(builder.operators),
        )

    def without_query(self, name: str) -> "Plan":
        """Return the plan without a query and what only it used."""
        plan = replace(
            self,
            queries={each: query for each, query in self.queries.items() if each != name},
            templates={each: template for each, template in self.templates.items() if each != name},
        )
        alone = self.runs_as(name)
        if alone in self.groups:
            group = self.groups[alone].without(name)
            if group.members:
                return plan._with_group(group)
            plan = replace(plan, groups={each: other for each, other in self.groups.items() if each != alone})
        return plan._on(self.network.unregister(alone))

    def _on(self, network: Network) -> "Plan":
        names = {operator.name for operator in network.operators}
        return replace(
            self, network=network, steps={each: step for each, step in self.steps.items() if each in names}
        )

    def with_ending(
        self, name: str, starts: Mapping[str, int], ends: Mapping[str, int]
    ) -> tuple["Plan", Mapping[Edge, Edge]]:
        """Return the plan in which a query sees no rows from `ends` on, and which queue is copied to which.

        For its windows the streams end there, which changes the contents of row windows. So the query gets its own
        join, and rows that wait for the old join, and after it, also wait for the new one. Without windows nothing
        changes: rows from `ends` on are left out of its results.
        """
        query, alone = self.queries[name], self.runs_as(name)
        if len(query.streams) == 1:
            return self, {}
        old_root = self.network.query(alone).root
        if alone in self.groups:
            group = self.groups[alone]
            own = replace(
                group, name=f"group {self.used + 1}", members={name: group.members[name]}, starts=_CLOSED
            )
            left = replace(self, used=self.used + 1)._founding(own, _ending(own.query, starts, ends, own.name))
            root = left.network.query(own.name).root
            rest = group.without(name)
            after = left._with_group(rest)
            if not rest.members:
                there = {each: other for each, other in after.groups.items() if each != alone}
                after = replace(after, groups=there)._on(after.network.unregister(alone))
        else:
            steps = _ending(query, starts, ends, f"{name} {self.used}")
            left = self._with_steps(replace(query, name=f"{name} (ending)"), steps)
            root = left.network.query(f"{name} (ending)").root
            network = left.network.unregister(name)
            *others, _ = network.queries
            network = Network(network.streams, network.operators, (*others, Query(name, root)))
            after = replace(left, queries=self.queries)._on(network)
        return after, _moved(left.network, old_root, root)

    def measured(self, network: Network) -> "Plan":
        """Return the plan with new measures of the same network."""
        return replace(self, network=network)

    def pane_of(self, name: str) -> int:
        """Return the size of the panes of partial aggregates: one that all variants of a group have in common."""
        step = self.steps[name]
        assert isinstance(step, Aggregate)
        closing = [self.steps[edge.target] for edge in self.network.out_edges.get(name, ())]
        groups = [each.group for each in closing if isinstance(each, Close) and each.group is not None]
        return gcd(step.pane, *(self.groups[group].pane for group in groups))

    def block_of(self, name: str) -> int:
        """Return the size of the blocks of panes of partial aggregates; 0 if there are none.

        Those of a group's variants are in its table of variants.
        """
        if name not in self._blocks:
            step = self.steps[name]
            assert isinstance(step, Aggregate)
            closing = (self.steps[edge.target] for edge in self.network.out_edges.get(name, ()))
            windows = [window for each in closing if isinstance(each, Close) for window in self.windows_of(each)]
            self._blocks[name] = 0 if step.block_column else block_of(step.pane, windows)
        return self._blocks[name]

    @cached_property
    def _blocks(self) -> dict[str, int]:
        return {}

    def windows_of(self, step: Close) -> list[WindowDef]:
        """Return the windows that a step closes; of a group, those of every member."""
        group = self.groups.get(step.group or "")
        windows = [step.window] if group is None else [member.window for member in group.members.values()]
        return [window for window in windows if window is not None]

    def join(self, name: str) -> Join:
        """Return the join of the operator of that name."""
        step = self.steps[name]
        assert isinstance(step, Join)
        return step

    def ordered(self, name: str, orders: tuple[tuple[int, ...], ...]) -> "Plan":
        """Return the plan with these probe orders of a join."""
        return replace(self, steps={**self.steps, name: replace(self.join(name), orders=orders)})

    def type_of(self, node: str, column: str) -> str:
        """Return Spark's type of a column in the output of a stream or of an operator below the results."""
        if column == POSITION:
            return "BIGINT"
        step = self.steps.get(node)
        if step is None:
            below = queries_below(self.queries.values())
            relations = (item.relation for query in below for item in query.items)
            found = next(each.column(column) for each in relations if each.name == node)
            assert found is not None
            return found.type.name
        if isinstance(step, Order):
            return next(each.type.name for each in step.columns if each.name == column)
        if isinstance(step, Lookup) and column in step.makes:
            found = step.table.column(step.makes[column])
            assert found is not None
            return found.type.name
        inputs = self.network.operator(node).inputs
        if isinstance(step, Join):
            port, _, rest = column.removeprefix("__p").partition("_")
            return self.type_of(inputs[int(port)], rest)
        return self.type_of(inputs[0], column)

    def wanted(self) -> dict[Edge, Columns]:
        """Return for every queue the columns that its operator, and those after it, read.

        All other columns can be dropped before it: projections are pushed down to the logs.
        """
        found: dict[Edge, Columns] = {}
        for operator in reversed(self.network.operators):
            out = self.network.out_edges.get(operator.name, ())
            after: Columns = frozenset().union(*(found[edge] for edge in out))
            needed = self.steps[operator.name].reads(after)
            found.update(zip(self.network.in_edges[operator.name], needed, strict=True))
        return found


_CLOSED = (("", -1),)
"""The starts of a group that no other query can join."""


def _starts_of(template: QueryTemplate, starts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return from where on the windows of a template see rows; nothing if it has no windows."""
    streams = template.query.streams
    return tuple((item.relation.name, starts.get(item.relation.name, 0)) for item in streams) * (len(streams) > 1)


_NO_STARTS = Starts()


def _derive(builder: OperatorBuilder, query: QueryDef, starts: Starts) -> None:
    """Add the derived streams that a query reads, as far as they do not exist."""
    for stream in derived_below(query):
        branches = ((branch, starts.windows.get(branch.name, NO_FIRST)) for branch in stream.branches)
        builder.derive(stream, [steps_of(branch, starts.rows, None, first) for branch, first in branches])


def _size(group: Group | None) -> int:
    return 1 if group is None else len(group.members)


def _ending(query: QueryDef, starts: Mapping[str, int], ends: Mapping[str, int], label: str) -> Steps:
    """Return the steps of a query that ends, with a join of its own: its queues are copies of others."""
    steps = steps_of(query, starts, ends)
    assert steps.join is not None
    return replace(steps, join=replace(steps.join, ending=label))


def _moved(network: Network, old: str, new: str) -> Mapping[Edge, Edge]:
    """Return the queues below `old` with the corresponding queues below `new`, which differs only in windows."""
    moved: dict[Edge, Edge] = {}
    pending = [(old, new)]
    while pending:
        old, new = pending.pop()
        if old == new:
            continue
        below = zip(network.operator(old).inputs, network.operator(new).inputs, strict=True)
        for port, (source, other) in enumerate(below):
            moved[Edge(source, old, port)] = Edge(other, new, port)
            pending.append((source, other))
    return moved
