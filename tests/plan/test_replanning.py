"""Probe orders of joins from the rows of logs, and new orders when these change; DuckDB runs the jobs."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from penstock.language import Script
from penstock.plan.plan import Plan
from penstock.plan.probe_orders import EQUAL, OTHER, StreamSample, planned
from penstock.policies import Exhaustive
from penstock.runtime.admission import Arrived
from penstock.runtime.engine import Engine
from tests.runtime.duck import Duck, next_job

SHOP = """
    CREATE STREAM orders (t TIMESTAMP, site INT, item BIGINT, customer STRING) FROM files
      WITH (path = 'x', format = 'parquet', timestamp = 't');
    CREATE STREAM visits (t TIMESTAMP, site INT) FROM files WITH (path = 'x', format = 'parquet', timestamp = 't');
    CREATE STREAM stock (t TIMESTAMP, item INT) FROM files WITH (path = 'x', format = 'parquet', timestamp = 't');
    CREATE STREAM calls (t TIMESTAMP, customer STRING) FROM files
      WITH (path = 'x', format = 'parquet', timestamp = 't');
    CREATE QUERY q AS SELECT o.site, o.item FROM orders [RANGE 5 SECONDS] AS o, visits [RANGE 5 SECONDS] AS v,
      stock [RANGE 5 SECONDS] AS s, calls [RANGE 5 SECONDS] AS c
      WHERE o.site = v.site AND o.item = s.item AND o.customer = c.customer;
"""
MANY, SOME, FEW = 3, 300, 100_000


def rows(random, name, start_s, keys, count=400):
    """Rows of four seconds whose columns have so many keys."""
    seconds = np.sort(random.uniform(start_s, start_s + 4, count))
    columns = {"t": pa.array((seconds * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))}
    wanted = {
        "orders": {"site": pa.int32(), "item": pa.int64(), "customer": pa.string()},
        "visits": {"site": pa.int32()},
        "stock": {"item": pa.int32()},
        "calls": {"customer": pa.string()},
    }
    for column, kind in wanted[name].items():
        columns[column] = pa.array(random.integers(keys[column], size=count)).cast(kind)
    return pa.table(columns)


class Shop:
    """An engine that rows come to, a few seconds of all streams at a time."""

    def __init__(self, optimize=True):
        self.script = Script.parse(SHOP)
        self.engine = Engine(self.script.streams, "fifo", Exhaustive(), optimize=optimize)
        self.engine.begin(self.script)
        self.random = np.random.default_rng(7)
        self.duck, self.now_s, self.results = Duck({}), 0.0, Counter()

    def come(self, **keys):
        for name in self.script.streams:
            table = rows(self.random, name, self.now_s, keys)
            self.engine.admit(name, Arrived(table, int(self.now_s * 1e6)), 1000)
        self.now_s += 4

    def work(self):
        while (run := next_job(self.engine, int(self.now_s * 1e6))) is not None:
            for emitted in self.engine.commit(run, self.duck(run.work), int(self.now_s * 1e6), 0.05):
                self.results.update(zip(*(c.to_pylist() for c in emitted.rows.columns), strict=True))
        self.engine.release()

    @property
    def orders(self):
        join = self.engine.plan.join("join.1")
        return [join.order_from(port) for port in range(4)]


def test_the_rarest_match_is_probed_first_from_the_first_job_on():
    shop = Shop()
    shop.come(site=MANY, item=SOME, customer=FEW)
    run = next_job(shop.engine, 4_000_000)
    assert run.work.plan.join("join.1").order_from(0) == (3, 2, 1)
    assert shop.orders == [(3, 2, 1), (0, 3, 2), (0, 3, 1), (0, 2, 1)]


def test_orders_follow_the_keys_and_results_stay_the_same():
    planned_shop, written = Shop(), Shop(optimize=False)
    for shop in (planned_shop, written):
        shop.come(site=MANY, item=SOME, customer=FEW)
        shop.work()
        for _ in range(6):
            shop.come(site=FEW, item=SOME, customer=MANY)
            shop.work()
            shop.engine.learn({})
    assert written.orders == [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)]
    assert planned_shop.orders == [(1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)]
    assert planned_shop.results == written.results
    assert sum(written.results.values()) > 100
    (told,) = planned_shop.engine.planner.take_changes()
    assert told.startswith("join.1 has new probe orders: a row of orders probes visits, stock, calls")


@pytest.mark.slow
def test_small_changes_leave_the_orders_alone():
    shop = Shop()
    shop.come(site=MANY, item=SOME, customer=SOME)
    shop.work()
    before = shop.orders
    for _ in range(5):
        shop.come(site=MANY, item=SOME - 10, customer=SOME + 10)
        shop.work()
        shop.engine.learn({})
    assert shop.orders == before
    assert shop.engine.planner.take_changes() == []


def test_a_stream_without_rows_is_probed_first():
    shop = Shop()
    for name in ("orders", "visits", "stock"):
        table = rows(shop.random, name, 0, {"site": MANY, "item": SOME, "customer": SOME})
        shop.engine.admit(name, Arrived(table, 0), 1000)
    shop.engine.streams["calls"].ended = True
    shop.engine.choose(0)
    assert [order[0] for order in shop.orders[:3]] == [3, 3, 3]


def test_results_expected_before_a_join_ran_are_about_those_that_come():
    """So a job takes only as many rows as it can hold the results of."""
    shop = Shop()
    shop.come(site=MANY, item=SOME, customer=SOME)
    shop.engine.choose(4_000_000)
    network = shop.engine.plan.network
    thought = sum(float(network.fanout[edge]) for edge in network.in_edges["join.1"]) / 4
    shop.engine.streams["orders"].ended = shop.engine.streams["visits"].ended = True
    shop.engine.streams["stock"].ended = shop.engine.streams["calls"].ended = True
    shop.work()
    # Four seconds of rows fill windows of five to two fifths, on average: results are some 1/15 of those later
    assert thought / 30 < sum(shop.results.values()) / 1600 < thought


PAIR = """
    CREATE STREAM a (k INT, m STRING, x DOUBLE) FROM poisson WITH (rate = 10);
    CREATE STREAM b (k BIGINT, m STRING, x DOUBLE) FROM poisson WITH (rate = 20);
    CREATE QUERY q AS SELECT 1 AS one FROM a [ROWS 5] AS a, b [RANGE 2 SECONDS] AS b WHERE {};
"""


def share_of(condition, left, right):
    script = Script.parse(PAIR.format(condition))
    found = planned(Plan.of(script), "join.1", [StreamSample(10, left), StreamSample(20, right)], [0, 0])
    return float(found.probing.problem.selectivities["a", "b"])


@pytest.mark.parametrize("keys", [("k",), ("m",), ("k", "m")])
def test_shares_of_equal_keys_are_those_of_all_pairs(keys):
    random = np.random.default_rng(5)
    tables = []
    for kind, count in ((pa.int32(), 300), (pa.int64(), 200)):
        numbers = [None if random.random() < 0.1 else int(random.zipf(1.5)) for _ in range(count)]
        words = [None if random.random() < 0.1 else f"w{random.integers(4)}" for _ in range(count)]
        tables.append(pa.table({"k": pa.array(numbers, kind), "m": pa.array(words)}))
    left, right = (list(zip(*(t.column(k).to_pylist() for k in keys), strict=True)) for t in tables)
    equal = sum(one == other and None not in one for one in left for other in right)
    condition = " AND ".join(f"a.{key} = b.{key}" for key in keys)
    assert share_of(condition, *tables) == pytest.approx(equal / (len(left) * len(right)))


@pytest.mark.parametrize(
    ("left", "right", "share"),
    [
        (pa.array([1, 2, 3], pa.int32()), pa.array([1.0, 2.5], pa.float64()), 1 / 6),
        (pa.array([0.0, -0.0]), pa.array([0.0, 1.0]), 2 / 4),
        (pa.array([2**63 + 1], pa.uint64()), pa.array([7], pa.int64()), 0.5),
        (pa.array([1, 2], pa.int64()).cast(pa.decimal128(21, 2)), pa.array([2, 2], pa.int64()), 2 / 4),
        (pa.array(["u", "v"], pa.large_string()), pa.array(["v", None]), 1 / 4),
    ],
)
def test_keys_of_different_types_are_compared(left, right, share):
    assert share_of("a.k = b.k", pa.table({"k": left}), pa.table({"k": right})) == pytest.approx(share)


def test_shares_that_cannot_be_counted_are_assumed():
    table = pa.table({"k": pa.array([1, 2], pa.int32()), "m": ["u", "v"], "x": [0.5, 0.6]})
    assert share_of("a.k = b.k", table, None) == pytest.approx(EQUAL)
    assert share_of("a.k < b.k", table, table) == pytest.approx(OTHER)
    nothing_equal = table.set_column(0, "k", pa.array([8, 9], pa.int64()))
    assert share_of("a.k = b.k AND a.x > b.x", table, nothing_equal) == pytest.approx(OTHER * 0.5 / 4)


def test_windows_and_rates_are_those_behind_the_selections():
    script = Script.parse(PAIR.format("a.k = b.k AND a.k > 3 AND b.k > 7"))
    plan = Plan.of(script)
    passed = {op.inputs[0]: op.name for op in plan.network.operators if op.kind == "select"}
    network = plan.network.measured(selectivities={passed["a"]: 0.5, passed["b"]: 0.25})
    name = next(op.name for op in network.operators if op.kind == "join")
    problem = planned(plan.measured(network), name, [StreamSample(10), StreamSample(20)], [0, 0]).probing.problem
    assert problem.rates == {"a": 5.0, "b": 5.0}
    assert [problem.windows[each].size for each in "ab"] == [2.5, 2.0]
