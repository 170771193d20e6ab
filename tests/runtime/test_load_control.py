"""What a system is reckoned to take, drop boxes set by that, the memory limit; one overload on Spark."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import RunError
from penstock.language import Script
from penstock.network import Window
from penstock.optimizer import JoinProblem
from penstock.policies import Exhaustive
from penstock.runtime.engine import Engine
from penstock.runtime.load_control import RunCounters, Shedding
from penstock.runtime.load_estimate import engine_load, jobs_load, probe_plans
from penstock.runtime.memory_sizes import check_memory, room_rows
from penstock.shedding.controller import Shedder, SheddingRules
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.generated import GeneratedSource
from tests.runtime.duck import Duck, next_job
from tests.runtime.test_drop_boxes import kept_numbers

ONE = """
CREATE STREAM s (v INT) FROM poisson WITH (rate = 1000, seed = 1, v_high = 99);
CREATE QUERY q AS SELECT v FROM s WHERE v < 50;
"""
THREE = """
CREATE STREAM a (k INT, m INT) FROM poisson WITH (rate = 50, seed = 1, k_high = 199, m_high = 19);
CREATE STREAM b (k INT) FROM poisson WITH (rate = 400, seed = 2, k_high = 199);
CREATE STREAM c (m INT) FROM poisson WITH (rate = 20, seed = 3, m_high = 19);
CREATE QUERY q AS SELECT a.k, c.m
  FROM a [RANGE 10 SECONDS] AS a, b [RANGE 10 SECONDS] AS b, c [RANGE 10 SECONDS] AS c
  WHERE a.k = b.k AND a.m = c.m;
"""


class Fed:
    """An engine whose streams bring so many seconds of rows a call, worked off by DuckDB at a price of our own."""

    def __init__(self, text, row_s):
        self.script = Script.parse(text)
        self.engine = Engine(self.script.streams, "fifo", Exhaustive())
        self.engine.begin(self.script)
        self.duck, self.row_s = Duck({}), row_s
        context = SourceContext(None, Path(), False, None, 10**6, 0, Path())
        self.sources = {name: GeneratedSource(stream, context) for name, stream in self.script.streams.items()}
        for source in self.sources.values():
            assert list(source.poll(0, 1)) == []
        self.now = 0.0

    def go(self, times):
        """Feed it and let it work, in jobs of several sizes: they tell what a job takes from what a row does."""
        for place in range(times):
            self.feed((0.3, 1.0, 2.0)[place % 3])
            self.work()

    def feed(self, seconds):
        self.now += seconds
        for name, source in self.sources.items():
            for arrived in source.poll(int(self.now * 1e6), 10**6):
                self.engine.admit(name, arrived, 10**6)
            self.engine.set_watermark(name, source.watermark(int(self.now * 1e6)), ended=False)

    def work(self):
        while (run := next_job(self.engine, int(self.now * 1e6))) is not None:
            seconds = 0.05 + sum(
                chunk.rows * self.row_s[edge.source] for edge, chunks in run.taken.items() for chunk in chunks
            )
            self.engine.commit(run, self.duck(run.work), int(self.now * 1e6), seconds)
        self.engine.release()
        self.engine.learn({})


def whole_load(engine, offered, round_s):
    load = engine_load(engine, offered, probe_plans(engine))
    return replace(load, jobs=jobs_load(engine, offered, round_s))


def test_a_selection_takes_its_rows_and_its_jobs():
    """AN04: one selection plan keeps x = 1 / Σ c; here with what jobs take beside."""
    fed = Fed(ONE, {"s": 2e-3})
    fed.engine.costs.expect("select.1", [1.5e-3])
    fed.go(30)
    load = whole_load(fed.engine, {"s": 1000.0}, 10.0)
    rows = 1000 * 2e-3
    assert load.rows_s({"s": 1.0}) == pytest.approx(rows, rel=0.1)
    jobs = load.utilization({"s": 1.0}) - load.rows_s({"s": 1.0})
    assert 0 < jobs < 0.05
    keep = load.keep_shares(0.9)["s"]
    assert keep == pytest.approx((0.9 - jobs) / load.rows_s({"s": 1.0}), rel=0.01)
    assert load.results({"s": keep})["q"] == pytest.approx(500 * keep, rel=0.1)
    assert load.keep_shares(2 * rows) == {"s": 1.0}


def test_where_nothing_is_known_to_come_out_nothing_is_dropped():
    fed = Fed(ONE.split("CREATE QUERY")[0], {"s": 1e-3})
    load = whole_load(fed.engine, {"s": 1000.0}, 1e-3)
    assert load.utilization({"s": 1.0}) > 1
    assert load.keep_shares(0.9) == {"s": 1.0}


def test_a_join_is_reckoned_with_what_is_offered_whatever_is_kept():
    """Rates of results by AN04 (5) from the declared figures, before and while b is thinned."""
    declared = JoinProblem(
        {"a": 50, "b": 400, "c": 20}, dict.fromkeys("abc", Window("range", 10)),
        {("a", "b"): 1 / 200, ("a", "c"): 1 / 20}, join_cost=1,
    )  # fmt: skip
    whole = 3 * 50 * 400 * 20 * 100 / 200 / 20
    assert ps.optimize(declared, capacity=1e9).rate == pytest.approx(whole)
    fed = Fed(THREE, {"a": 1e-5, "b": 1e-4, "c": 1e-5})
    offered = {"a": 100.0, "b": 800.0, "c": 40.0}  # at twice the streams' own pace
    fed.go(12)
    everything = dict.fromkeys("abc", 1.0)
    assert whole_load(fed.engine, offered, 10.0).results(everything)["q"] == pytest.approx(2 * whole, rel=0.1)
    fed.engine.set_keep({"b": 0.25})
    fed.go(4)
    load = whole_load(fed.engine, offered, 10.0)
    assert load.results(everything)["q"] == pytest.approx(2 * whole, rel=0.1)
    assert load.results({**everything, "b": 0.25})["q"] == pytest.approx(2 * whole / 4, rel=0.1)
    assert load.utilization(everything) > load.utilization({**everything, "b": 0.25}) > 0


def test_boxes_come_when_the_load_is_too_high_and_go_when_it_falls():
    """A minute of looks, thirty seconds of them at three times what a scripted machine serves."""
    fed = Fed(ONE, {"s": 1e-3})
    fed.go(20)
    shedding = Shedding(fed.engine, 1, Shedder(SheddingRules(hold_s=2, lift_s=5, interval_s=3)))
    said, offered, served, worked, overhead = [], 0.0, 0.0, 0.0, 0.0
    for second in range(60):
        rate = 3000 if second < 30 else 300
        keep = fed.engine.streams["s"].box.keep
        offered, served = offered + rate, served + min(rate * keep, 950)
        worked, overhead = worked + min(rate * keep, 950) * 1e-3 + 0.05, overhead + 0.05
        standing = RunCounters(
            float(second), {"s": round(offered)}, {"s": round(served)}, {"s": 40.0}, 0, 1e6, False, worked,
            overhead, worked / 0.95,
        )  # fmt: skip
        if (text := shedding.sample(standing)) is not None:
            said.append((second, text, fed.engine.streams["s"].box.keep))
        assert shedding.summary is None or shedding.summary.utilization < 4
    first, *_, last = said
    assert first[1].startswith("shedding keeps 0.")
    assert "(overload)" in first[1]
    assert 0.2 < first[2] < 0.35
    assert last[1].startswith("shedding ends")
    assert last[2] == 1.0
    assert len(said) <= 6
    assert fed.engine.streams["s"].box.history[0] == (0, 1.0)


def test_a_source_says_what_is_due_whether_it_is_read_or_not():
    stream = Script.parse(ONE).streams["s"]
    context = SourceContext(None, Path(), False, None, 10**6, 0, Path())
    held, read = GeneratedSource(stream, context), GeneratedSource(stream, context)
    count = 0
    for source in (held, read):
        assert source.offered(0) == 0
        assert list(source.poll(0, 1)) == []
    for now in range(100_000, 5_000_000, 100_000):
        count += sum(arrived.rows.num_rows for arrived in read.poll(now, 10**6))
        assert held.offered(now) == read.offered(now) == count
    assert count == pytest.approx(4900, rel=0.1)


def test_a_limit_below_one_chunk_is_refused():
    streams = Script.parse(THREE).streams.values()
    with pytest.raises(RunError, match=r"a memory limit of 1,000 bytes is below one chunk: stream b .* at least"):
        check_memory(1000, streams, 50_000, 100_000)
    check_memory(10_000, streams, 50_000, 100_000)
    check_memory(1000, streams, 5, 100_000)


def test_room_counts_what_will_be_kept():
    assert room_rows(1000, 50, 1.0) == 20
    assert room_rows(1000, 50, 0.25) == 80
    assert room_rows(-5, 50, 1.0) == 0


def test_limits_change_while_a_script_runs(spark):
    script = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 2000); CREATE QUERY q AS SELECT v FROM s;"
    with pytest.raises(RunError, match="below one chunk"):
        ps.run(f"{script} SET memory = '1KB';", spark=spark, seconds=1)
    with ps.started(f"{script} SET memory = '1MB';", spark=spark) as running:
        assert running.execute("SET memory = '2MB'") == ["memory 2,000,000 bytes"]
        with pytest.raises(RunError, match="below one chunk"):
            running.execute("SET memory = '1KB'")
        assert running.execute("SET shed = false; SET shed = true;") == [
            "shedding off: everything is kept",
            "shedding on",
        ]
        until = time.monotonic() + 20
        while not running.summary().streams["s"].rows and time.monotonic() < until:
            time.sleep(0.1)
        assert running.stop().streams["s"].rows > 0


@pytest.mark.slow
def test_an_overload_on_spark_drops_what_the_boxes_say(spark):
    """Rows that a dear expression passes: results are exactly the rows kept, in order, and counts are exact."""
    stream = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 400000, seed = 5, v_high = 1000000"
    dear = "NOT concat(CAST(v AS STRING), 'aaaaaaaaaaaaaaaaa') RLIKE '(a+)+!'"
    events = []
    found = ps.run(
        f"{stream}); CREATE QUERY q AS SELECT v FROM s WHERE {dear}; SET memory = '16MB'; SET shed = true;",
        spark=spark, seconds=15, drain=True, batch_rows=100_000, on_event=events.append,
    )  # fmt: skip
    summary = found.summary.streams["s"]
    assert any(text.startswith("shedding keeps 0.") for text in events), events
    assert found.summary.peak_bytes <= 16_000_000
    assert summary.rows == summary.kept + summary.dropped
    assert found.summary.queries["q"].dropped == {"s": summary.dropped}
    whole = ps.run(
        f"{stream}, rows = {summary.rows}); CREATE QUERY q AS SELECT v FROM s;", spark=spark, drain=True
    )
    values = whole.results["q"].column("v").to_pylist()
    kept = sorted(kept_numbers("s", summary.boxes, summary.rows))
    assert found.results["q"].column("v").to_pylist() == [values[number] for number in kept]
    assert summary.kept == len(kept)
