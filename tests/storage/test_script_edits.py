"""Scripts that were edited between runs, and queries that were created and dropped while a run went on.

What a query must return follows from the files that were read when it began and when it ended.
"""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from penstock.errors import RunError
from penstock.runtime.options import RunOptions
from tests.storage.small_run import LOW, PAIRS, SECOND, STREAMS, Camera, SmallRun, documents, make_files, rows_of

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 17
FILES, ROWS = 8, 6
OTHERS = "CREATE QUERY others AS SELECT id FROM a WHERE k >= 3;\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=FILES, rows=ROWS)


def of_files(data, first=0, end=FILES, keep=lambda k: k < 3):
    """The ids of `a` that a filter on k keeps, of some of the files."""
    rows, _ = rows_of(data, "a")
    return Counter(id_ for id_, k, _ in rows if first * ROWS <= id_ < end * ROWS and keep(k))


def pairs_of_files(data, first=0):
    """The pairs of rows in a window, of all files from one on."""
    (a, _), (b, _) = rows_of(data, "a"), rows_of(data, "b")
    a, b = ([row for row in rows if row[0] >= first * ROWS] for rows in (a, b))
    return Counter((x, y) for x, kx, tx in a for y, ky, ty in b if kx == ky and abs(tx - ty) <= 10 * SECOND)


def ids(place, query, column="id"):
    paths = [*(place / "out" / query).glob("*.parquet"), *(place / "out" / "_recent" / query).glob("*.parquet")]
    return Counter(each for path in paths for each in pq.read_table(path).column(column).to_pylist())


def pairs(place):
    paths = [*(place / "out" / "pairs").glob("*.parquet")]
    return Counter(tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist())


def runs(place, data, *scripts, files=3, **keywords):
    """Run one script after another, each on some files, the last one to the end. Return the last run."""
    for script in scripts[:-1]:
        SmallRun(place, data, script=STREAMS + script, files=files, drain=False, **keywords).go()
    run = SmallRun(place, data, script=STREAMS + scripts[-1], **keywords)
    run.summary = run.go()
    return run


def test_a_query_that_is_added_begins_with_the_next_row(tmp_path, data):
    runs(tmp_path, data, LOW, LOW + OTHERS + PAIRS)
    assert ids(tmp_path, "low") == of_files(data)
    assert ids(tmp_path, "others") == of_files(data, 3, keep=lambda k: k >= 3)
    assert pairs(tmp_path) == pairs_of_files(data, 3)


def test_a_query_that_is_dropped_ends_with_the_last_row(tmp_path, data):
    runs(tmp_path, data, LOW + OTHERS, LOW)
    assert ids(tmp_path, "low") == of_files(data)
    assert ids(tmp_path, "others") == of_files(data, 0, 3, keep=lambda k: k >= 3)


def test_a_query_that_is_edited_has_the_old_rows_and_the_new(tmp_path, data):
    """It begins again under its name when the old one has ended, and says with which row."""
    run = runs(tmp_path, data, LOW, LOW.replace("k < 3", "k > 3"))
    rows, _ = rows_of(data, "a")
    end, begin = told(run.events, "query low ends before"), told(run.events, "query low begins at")
    assert end == begin == 3 * ROWS
    assert run.summary.queries["low"].outputs == ids(tmp_path, "low").total()
    kept = [i for i, k, _ in rows if (k < 3 and i < end) or (k > 3 and i >= begin)]
    assert ids(tmp_path, "low") == Counter(kept)


def told(events, words):
    """The sequence number, here also the id, that an event has."""
    return next(first_of(event) for event in events if event.startswith(words))


SLOW = "SET batch_rows = 1;\n"
MANY_PAIRS = PAIRS.replace("10 SECONDS", "30 SECONDS")


def interrupted(place, data, script, jobs):
    """Begin a run, and stop it after some jobs: rows wait."""
    run = SmallRun(place, data, script=STREAMS + SLOW + script, files=4, drain=False)
    done = []
    with run.opened() as runtime:
        run.on_job = lambda work: (done.append(work), len(done) == jobs and runtime.stop())
        runtime.run()
        assert any(queue.rows for queue in runtime.engine.state.queues.values())
    return run


def places(events, words):
    """The sequence numbers at which something happened, by stream."""
    text = next(event for event in events if event.startswith(words)).removeprefix(words)
    return {stream: int(sequence) for stream, sequence in (each.split() for each in text.split(","))}


def pairs_between(data, first, end, seconds=10):
    """The pairs of rows in a window, where a query sees each stream from one row to another."""
    a, b = (
        [row for row in rows_of(data, name)[0] if first.get(name, 0) <= row[0] < end.get(name, FILES * ROWS)]
        for name in "ab"
    )
    return Counter((x, y) for x, kx, tx in a for y, ky, ty in b if kx == ky and abs(tx - ty) <= seconds * SECOND)


@pytest.mark.parametrize("jobs", [1, 2, 5, 9])
def test_an_edited_query_begins_where_the_old_one_ends(tmp_path, data, jobs):
    """Although rows wait, other queries begin behind it, and streams have more rows to give."""
    interrupted(tmp_path, data, LOW + PAIRS, jobs)
    run = SmallRun(tmp_path, data, script=STREAMS + SLOW + LOW.replace("k < 3", "k > 3") + MANY_PAIRS + OTHERS)
    run.go()
    for query in ("low", "pairs"):
        ends = places(run.events, f"query {query} ends before ")
        assert ends == places(run.events, f"query {query} begins at ")
    rows, _ = rows_of(data, "a")
    end = places(run.events, "query low ends before ")["a"]
    begin = places(run.events, "query others begins at ")["a"]
    assert 0 < end < FILES * ROWS
    assert ids(tmp_path, "low") == Counter(i for i, k, _ in rows if (k < 3 if i < end else k > 3))
    assert ids(tmp_path, "others") == Counter(i for i, k, _ in rows if k >= 3 and i >= begin)
    assert pairs(tmp_path) == pairs_between(data, {}, ends) + pairs_between(data, ends, {}, 30)


def test_an_edit_that_a_stop_cut_off_is_carried_out_by_the_next_run(tmp_path, data):
    """Rows of the old query still wait when the run ends."""
    edited = LOW.replace("k < 3", "k > 3") + PAIRS
    interrupted(tmp_path, data, LOW + PAIRS, 1)
    second = interrupted(tmp_path, data, edited, 1)
    third = SmallRun(tmp_path, data, script=STREAMS + SLOW + edited)
    third.go()
    assert not any("not applied" in event for event in second.events + third.events)
    ends = places(second.events, "query low ends before ")
    assert ends == places(third.events, "query low begins at ")
    assert not any(event.startswith("query low begins") for event in second.events)
    rows, _ = rows_of(data, "a")
    assert ids(tmp_path, "low") == Counter(i for i, k, _ in rows if (k < 3 if i < ends["a"] else k > 3))
    assert pairs(tmp_path) == pairs_of_files(data)


def test_a_query_that_is_renamed(tmp_path, data):
    runs(tmp_path, data, LOW + PAIRS, LOW.replace("QUERY low", "QUERY others") + PAIRS)
    assert ids(tmp_path, "low") == of_files(data, 0, 3)
    assert ids(tmp_path, "others") == of_files(data, 3)
    assert pairs(tmp_path) == pairs_of_files(data)


def test_other_white_space_is_no_edit(tmp_path, data):
    run = runs(tmp_path, data, LOW, "\n\n-- a comment\n" + LOW.replace(" WHERE", "\n  WHERE"))
    assert ids(tmp_path, "low") == of_files(data)
    assert not any("begins" in event for event in run.events)


def test_edited_and_edited_back(tmp_path, data):
    runs(tmp_path, data, LOW + PAIRS, OTHERS + PAIRS, LOW + PAIRS, PAIRS + LOW + OTHERS, files=2)
    assert ids(tmp_path, "low") == of_files(data, 0, 2) + of_files(data, 4)
    assert ids(tmp_path, "others") == of_files(data, 2, 4, keep=lambda k: k >= 3) + of_files(
        data, 6, keep=lambda k: k >= 3
    )
    assert pairs(tmp_path) == pairs_of_files(data)


def test_a_stream_that_is_added(tmp_path, data):
    """The other stream is read from its beginning."""
    a, b = STREAMS.strip().splitlines()
    SmallRun(tmp_path, data, script=a + LOW, files=3, drain=False).go()
    SmallRun(tmp_path, data, script=b + a + LOW + OTHERS.replace("FROM a", "FROM b")).go()
    rows, _ = rows_of(data, "b")
    assert ids(tmp_path, "low") == of_files(data)
    assert ids(tmp_path, "others") == Counter(id_ for id_, k, _ in rows if k >= 3)


def test_a_stream_of_other_options_is_refused_and_nothing_is_lost(tmp_path, data):
    runs(tmp_path, data, LOW, LOW, files=2)
    changed = STREAMS.replace("timestamp = 'at'", "timestamp = 'at', lateness = '2 s'")
    with pytest.raises(RunError, match="lateness was not set"):
        SmallRun(tmp_path, data, script=changed + LOW).go()
    assert ids(tmp_path, "low") == of_files(data)


def test_going_on_after_a_drain_tells_which_results_joins_lack(tmp_path, data):
    """Rows of `a` waited for `b`; a drained run joins them with what there is."""
    ends = []
    for files, script in ((3, PAIRS), (2, LOW), (1, LOW), (1, PAIRS), (None, PAIRS)):
        run = SmallRun(tmp_path, data, script=STREAMS + script, files=files)
        run.go()
        ends.append([event[0] for event in run.events if "had ended in the last run" in event])
    assert ends == [[], ["a", "b"], [], [], ["a", "b"]]


def settings_of(place, data, script, **keywords):
    run = SmallRun(place, data, script=STREAMS + script + LOW, files=1, drain=False, **keywords)
    with run.opened() as runtime:
        runtime.run()
        return dict(runtime.script.settings)


def test_settings_that_change_in_the_file_apply(tmp_path, data):
    assert settings_of(tmp_path, data, "SET commit = '10 ms';")["commit"] == 10_000
    assert settings_of(tmp_path, data, "SET commit = '20 ms';")["commit"] == 20_000
    assert settings_of(tmp_path, data, "SET commit = '20 ms'; SET chunk_rows = 7;")["chunk_rows"] == 7
    assert "commit" not in settings_of(tmp_path, data, "SET chunk_rows = 7;")
    assert settings_of(tmp_path, data, "SET chunk_rows = 8;")["chunk_rows"] == 8
    SmallRun(tmp_path, data, script=STREAMS + LOW).go()
    assert ids(tmp_path, "low") == of_files(data)


@pytest.mark.parametrize("first", [True, False])
def test_groups_stay_as_the_state_began(tmp_path, data, first):
    """Queues of a plan with groups are not those of one without."""
    words = {True: "SET groups = TRUE;", False: "SET groups = FALSE;"}
    groups = []
    for setting in (words[first], words[not first], words[not first], ""):
        run = SmallRun(tmp_path, data, script=STREAMS + setting + LOW + PAIRS, files=2, drain=False)
        with run.opened() as runtime:
            runtime.run()
            groups.append(RunOptions.of(runtime.script).groups)
        is_told = any(event.startswith(f"groups stay {'on' if first else 'off'}") for event in run.events)
        assert is_told == (len(groups) > 1 and (setting == words[not first] or (not setting and not first)))
    assert groups == [first] * 4
    SmallRun(tmp_path, data, script=STREAMS + LOW + PAIRS).go()
    assert ids(tmp_path, "low") == of_files(data)
    assert pairs(tmp_path) == pairs_of_files(data)


SHED = "SET memory = '50MB'; SET shed = {};\n"


@pytest.mark.parametrize("sheds", [True, False])
def test_drop_boxes_go_on_only_if_load_is_shed(tmp_path, data, sheds):
    """They were set by a process that shed load."""
    keeps = []

    def begin(on_job=None, shed=True, **keywords):
        script = STREAMS + SHED.format(str(shed).upper()) + LOW + OTHERS
        run = SmallRun(tmp_path, data, script=script, **keywords)
        if on_job is not None:
            run.on_job = lambda work: on_job(runtime)
        with run.opened() as runtime:
            keeps.append(runtime.engine.streams["a"].keep)
            runtime.run()
            keeps.append(runtime.engine.streams["a"].keep)
        return run

    begin(lambda runtime: runtime.engine.set_keep({"a": 0.25}), files=3, drain=False)
    run = begin(shed=sheds)
    assert keeps == ([1, 0.25, 0.25, 0.25] if sheds else [1, 0.25, 0.25, 1])
    given = ids(tmp_path, "low") + ids(tmp_path, "others")
    later = of_files(data, 3, keep=lambda k: True)
    if sheds:
        assert not later <= given
    else:
        assert later <= given
        assert any("shed" in event for event in run.events)


def executing(place, data, script, at_job, sql, **keywords):
    """Run a script; when it does its nth job, hand statements over."""
    jobs = []

    def on_job(work):
        jobs.append(work)
        if len(jobs) == at_job:
            statements = runtime.script.read_statements(sql)
            asked.extend(runtime._requests.add([statement]) for statement in statements)

    asked = []
    run = SmallRun(place, data, script=STREAMS + script, on_job=on_job, **keywords)
    with run.opened() as runtime:
        runtime.run()
    return [message for each in asked for message in each.result(0)]


def first_of(message):
    """The sequence number, here also the id, in the answer to a statement."""
    return int(message.rpartition(" ")[2])


def test_queries_of_a_running_script_stay(tmp_path, data):
    [message] = executing(tmp_path, data, LOW, 2, OTHERS, files=3, drain=False)
    SmallRun(tmp_path, data, script=STREAMS + LOW).go()
    rows, _ = rows_of(data, "a")
    assert ids(tmp_path, "others") == Counter(i for i, k, _ in rows if k >= 3 and i >= first_of(message))
    assert ids(tmp_path, "low") == of_files(data)


def test_a_query_that_was_dropped_while_it_ran_stays_so(tmp_path, data):
    [message] = executing(tmp_path, data, LOW + OTHERS, 2, "DROP QUERY low;", files=3, drain=False)
    for _ in range(2):
        SmallRun(tmp_path, data, script=STREAMS + LOW + OTHERS, files=1, drain=False).go()
    SmallRun(tmp_path, data, script=STREAMS + LOW + OTHERS).go()
    rows, _ = rows_of(data, "a")
    assert ids(tmp_path, "low") == Counter(i for i, k, _ in rows if k < 3 and i < first_of(message))
    assert ids(tmp_path, "others") == of_files(data, keep=lambda k: k >= 3)


def test_created_and_dropped_while_it_ran_and_then_edited(tmp_path, data):
    """The file gets what was created by hand, in other words, and loses another query."""
    created, dropped = executing(tmp_path, data, LOW + PAIRS, 2, OTHERS + "DROP QUERY low;", files=3, drain=False)
    edited = OTHERS.replace("k >= 3", "k = 4")
    run = SmallRun(tmp_path, data, script=STREAMS + LOW + edited)
    run.go()
    rows, _ = rows_of(data, "a")
    assert ids(tmp_path, "low") == Counter(i for i, k, _ in rows if k < 3 and i < first_of(dropped))
    by_hand = Counter(i for i, k, _ in rows if k >= 3 and first_of(created) <= i < 3 * ROWS)
    begin = told(run.events, "query others begins at")
    assert ids(tmp_path, "others") == by_hand + Counter(i for i, k, _ in rows if k == 4 and i >= begin)
    kept = Counter({pair: count for pair, count in pairs_of_files(data).items() if max(pair) < 3 * ROWS})
    assert pairs(tmp_path) == kept


def test_a_query_whose_columns_change_is_reported_and_the_others_go_on(tmp_path, data):
    """Its folder has the old columns."""
    run = runs(tmp_path, data, LOW + PAIRS, "CREATE QUERY low AS SELECT id FROM a;\n" + PAIRS)
    assert pairs(tmp_path) == pairs_of_files(data)
    assert ids(tmp_path, "low") == of_files(data, 0, 3)
    [said] = [event for event in run.events if event.startswith("change not applied")]
    assert "query low cannot be appended to its results" in said
    assert "column k" in said


def test_an_edit_survives_a_crash_at_any_time(tmp_path, data):
    """Also before it was carried out: then it is carried out by the next run, and never twice."""
    place = tmp_path / "place"
    place.mkdir()
    SmallRun(place, data, script=STREAMS + LOW + PAIRS, files=3, drain=False).go()
    edited = STREAMS + LOW.replace("k < 3", "k > 3") + OTHERS
    camera = Camera(place, tmp_path / "album", ["checkpoint.durable", "entry.durable"])
    seen, first = [], SmallRun(place, data, script=edited, files=3, drain=False)
    camera.told = lambda: seen.append(list(first.events))
    with camera.rolling():
        first.go()
    rows, _ = rows_of(data, "a")
    for (_, copy), events in zip(camera.taken, seen, strict=True):
        later = SmallRun(copy, data, script=edited)
        later.go()
        events = [*events, *later.events]
        for query, keep in (("low", lambda k: k > 3), ("others", lambda k: k >= 3)):
            begin = [first_of(event) for event in events if event.startswith(f"query {query} begins at")][-1]
            end = [first_of(event) for event in events if event.startswith("query low ends")][-1]
            old = Counter(i for i, k, _ in rows if query == "low" and k < 3 and i < end)
            assert ids(copy, query) == old + Counter(i for i, k, _ in rows if keep(k) and i >= begin), copy


NO_PAIRS = "CREATE QUERY pairs AS SELECT id AS a_id, k AS b_id FROM a WHERE k = 99;\n"


def pairs_from(data, message):
    """The pairs of rows in a window from where a query begins, by the message about it."""
    begins = dict(each.split() for each in message.partition(" begins at ")[2].split(", "))
    a, b = ([row for row in rows_of(data, name)[0] if row[0] >= int(begins[name])] for name in "ab")
    return Counter((x, y) for x, kx, tx in a for y, ky, ty in b if kx == ky and abs(tx - ty) <= 10 * SECOND)


@pytest.mark.parametrize("before", ["", NO_PAIRS])
def test_an_edit_is_known_without_the_newest_checkpoint(tmp_path, data, before):
    """It is not carried out again: a window join would begin anew."""
    place = tmp_path / "place"
    place.mkdir()
    SmallRun(place, data, script=STREAMS + LOW + before, files=2, drain=False).go()
    edited = STREAMS + LOW + PAIRS
    camera = Camera(place, tmp_path / "album", ["entry.durable"])
    first = SmallRun(place, data, script=edited, files=3, drain=False)
    with camera.rolling():
        first.go()
    [begin] = [event for event in first.events if event.startswith("query pairs begins")]
    for _, copy in camera.taken[2:]:
        documents(copy, "checkpoint")[-1].unlink()
        later = SmallRun(copy, data, script=edited)
        later.go()
        begun = [event for event in later.events if "begins" in event]
        assert pairs(copy) == pairs_from(data, *begun or [begin])
        assert len(begun) <= (copy == camera.taken[2][1])


@pytest.mark.parametrize("stores", [False, True])
def test_a_join_that_was_created_by_hand_keeps_its_windows_after_a_crash(tmp_path, data, stores):
    """The streams had no windows at the last checkpoint."""
    place = tmp_path / "place"
    place.mkdir()
    camera = Camera(place, tmp_path / "album", ["entry.durable"])
    with camera.rolling():
        [message] = executing(place, data, LOW, 2, PAIRS, files=5, drain=False, stores=stores)
    want = pairs_from(data, message)
    went_on = 0
    for _, copy in camera.taken[::2]:
        later = SmallRun(copy, data, script=STREAMS + LOW, stores=stores)
        with later.opened() as runtime:
            runtime.run()
            is_known = "pairs" in runtime.engine.queries
        went_on += is_known
        assert pairs(copy) == (want if is_known else Counter())
        assert ids(copy, "low") == of_files(data)
    assert went_on > 2
