"""Engines that die and go on, on random scripts, data and interleavings, with DuckDB for the jobs.

What was committed is written as JSON and read back into a new engine; the rest is lost and happens again. The
results must be those of an engine that never died.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.language import Script
from penstock.policies import Exhaustive, Limited
from penstock.runtime import file_admission
from penstock.runtime.engine import Engine
from penstock.runtime.result_limits import ResultLimits
from penstock.runtime.rows import window_cache, written_segments
from penstock.runtime.rows.segment import ArrivedFiles
from penstock.runtime.rows.time_index import TimeIndexBuilder
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.spark.sources.parquet_segments import Footer, names_in, segment_of
from penstock.storage.engine_record import EngineRecord
from penstock.storage.engine_restore import check_plan, restore_rows, restore_statistics, script_after
from penstock.storage.image import Image
from penstock.storage.row_log import RowLogs
from tests.oracle.generator import cases, with_variants
from tests.runtime.duck import Duck, next_job
from tests.runtime.test_engine_random import POLICY, Drive, joins_of_two, run


class Mortal(Drive):
    """An engine that is kept by commits, and dies now and then."""

    def __init__(self, case, random: Random, policy: str, folder: Path) -> None:
        super().__init__(case, random, policy, folder)
        self.policy = policy
        self.state = folder.parent / f"{folder.name}-state"
        self.state.mkdir()
        self.writes_segments = random.random() < 0.5
        self.epoch = self.deaths = 0
        self.begun = False
        self._keep()
        self._checkpoint()

    def _keep(self) -> None:
        self.epoch += 1
        self.log = RowLogs(self.state, self.epoch)
        self.record = EngineRecord(self.engine, self.log, self.state)
        if self.writes_segments:
            folder = self.state / "streams" / "_segments"
            always = self.random.random() < 0.3
            self.engine.write_segments_by(
                SegmentWriter(folder, always=always, prefix=f"{self.epoch}-", release=lambda path: None)
            )

    def begin(self) -> None:
        super().begin()
        self.begun = True
        self._checkpoint()

    def happen(self) -> None:
        super().happen()
        chance = self.random.random()
        if chance < 0.4:
            self._commit()
        if chance < 0.1:
            self._checkpoint()
        if 0.35 < chance < 0.45:
            self._die()

    def _run(self) -> dict:
        return {"taken": 0, "version": "1"}

    def _commit(self) -> None:
        self.entries.append(_as_read({"run": self._run(), "engine": self.record.changes()}))
        self.log.flush()
        self._mark()

    def _checkpoint(self) -> None:
        self.record.changes()
        checkpoint = {"run": self._run(), "script": {}, "engine": self.record.everything()}
        self.checkpoint = _as_read({**checkpoint, "sources": {}, "sink": {}, "outbox": []})
        self.log.flush()
        self.entries: list[dict] = []
        self._mark()

    def _mark(self) -> None:
        counts = {name: len(rows) for name, rows in self.results.items()}
        self.marked = dict(self.rows), counts, list(self.uncreated)

    def _die(self) -> None:
        """Begin again with what was committed."""
        self.deaths += 1
        rows, counts, uncreated = self.marked
        self.rows, self.uncreated, self.runs = dict(rows), list(uncreated), []
        self.results = {name: found[: counts[name]] for name, found in self.results.items()}
        image = Image.of(self.checkpoint, self.entries)
        service = self.random.choice([Exhaustive(), Limited(1), Limited(7)])
        self.engine = Engine(self.script.streams, self.policy, service, quantum_s=self.random.choice([0.0, 100.0]))
        if self.most is not None:
            self.engine.units.limits = ResultLimits(most_bytes=1e12, most_results=self.most)
        base = self.script if self.begun else replace(self.script, queries={})
        _, changes, created = script_after(base, image)
        self.engine.begin_again(base, changes, created)
        check_plan(self.engine, image)
        found = restore_rows(self.engine, image, self.state, lambda count, total: None)
        restore_statistics(self.engine, image)
        self._keep()
        self.record.adopt(found.chunks, found.checksums)
        self._checkpoint()


def _as_read(body: dict) -> dict:
    return json.loads(json.dumps(body))


def check(case, seed: int, policy: str) -> int:
    random = Random(seed)
    small_blocks = partial(TimeIndexBuilder, random.choice([1, 3, 4096]))
    in_memory = random.choice([0, 1000, window_cache.MOST_BYTES])
    with (
        TemporaryDirectory() as folder,
        patch.object(file_admission, "TimeIndexBuilder", small_blocks),
        patch.object(window_cache, "MOST_BYTES", in_memory),
        patch.object(written_segments, "RESIDENT_BYTES", random.choice([300, 64_000_000])),
        patch.object(written_segments, "SEGMENT_BYTES", 200),
    ):
        place = Path(folder) / "rows"
        place.mkdir()
        drive = Mortal(case, random, policy, place)
        run(drive, case, random, policy, seed)
    return drive.deaths


@settings(max_examples=20, deadline=None)
@given(case=cases(max_rows=25, combined=20_000), seed=st.integers(0, 2**32), policy=POLICY)
def test_results_do_not_depend_on_deaths(case, seed, policy):
    check(with_variants(case, Random(seed), 1), seed, policy)


def test_joins_go_on():
    """Windows of time and of rows, rows out of order, chunks in memory and in files."""
    random = Random(23)
    deaths = 0
    for _ in range(20):
        deaths += check(joins_of_two(random), random.randrange(2**32), random.choice(["hnr", "fifo"]))
    assert deaths > 20


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(case=cases(max_rows=30, combined=30_000), seed=st.integers(0, 2**32), policy=POLICY)
def test_results_do_not_depend_on_deaths_tried_often(case, seed, policy):
    check(with_variants(case, Random(seed), 3), seed, policy)


@pytest.mark.parametrize("by", ["checkpoint", "entries"])
def test_a_file_that_comes_again_after_it_was_lost(tmp_path, by):
    """Its name is that of lost rows, but its rows wait."""
    script = Script.parse(
        "CREATE STREAM s (v INT) FROM files WITH (path = 'x', format = 'parquet');\n"
        "CREATE QUERY q AS SELECT v FROM s;"
    )
    engine, state, path = Engine(script.streams, "fifo", Exhaustive()), tmp_path / "state", tmp_path / "f.parquet"
    engine.begin(script)
    state.mkdir()
    record = EngineRecord(engine, RowLogs(state, 1), state)

    def admit(values):
        pq.write_table(pa.table({"v": pa.array(values, pa.int32())}), path)
        footer, stream = Footer.of(path), script.streams["s"]
        names = names_in(footer, stream.columns)
        engine.admit("s", ArrivedFiles((segment_of(path, footer, stream, names),), 1, names), 100)
        [*_, newest] = engine.state.segments()
        return newest

    checkpoint = {"run": {}, "script": {}, "engine": record.everything(), "sources": {}, "sink": {}, "outbox": []}
    first = admit(range(10))
    entries = [{"run": {}, "engine": record.changes()}]
    engine.lose_files(None, {first: "s"})
    entries.append({"run": {}, "engine": record.changes()})
    admit(range(100, 106))
    entries.append({"run": {}, "engine": record.changes()})
    if by == "checkpoint":
        checkpoint, entries = {**checkpoint, "engine": record.everything()}, []
    image = Image.of(_as_read(checkpoint), map(_as_read, entries))
    engine = Engine(script.streams, "fifo", Exhaustive())
    engine.begin_again(script, *script_after(script, image)[1:])
    restore_rows(engine, image, state, lambda count, total: None)
    job = next_job(engine, 2)
    [emitted] = engine.commit(job, Duck({})(job.work), 2, 0.01)
    assert emitted.rows.column("v").to_pylist() == list(range(100, 106))
    assert next_job(engine, 3) is None
