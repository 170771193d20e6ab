"""`penstock simulate`: networks from files and papers, arrivals, what is shown, what is refused."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock.simulator.simulate as simulator
from penstock import NetworkBuilder, Window
from penstock.cli.app import app
from penstock.cli.simulate.network_file import network_from, network_of
from penstock.errors import NetworkError, PenstockError
from penstock.simulator.result import METRICS
from penstock.workloads import POPULATIONS, population

EXAMPLE = Path(__file__).parents[2] / "examples" / "network.toml"
SHORT = '[[stream]]\nname = "s"\nrate = 10\n[[query]]\nstream = "s"\noperators = [["10ms", 1]]\n'
JOIN = SHORT + '[[operator]]\nname = "o"\ninputs = ["s", "s"]\ncost = 1\nwindows = [5, 5]\n'
runner = CliRunner()


def invoked(*arguments):
    return runner.invoke(app, ["simulate", *map(str, arguments)])


def simulated(*arguments):
    result = runner.invoke(app, ["simulate", *map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def refused(*arguments):
    """What a work that cannot be says; the process exits with 1."""
    result = invoked(*arguments)
    assert isinstance(result.exception, PenstockError), result.output
    return str(result.exception)


def miscalled(*arguments):
    """What a wrong call says, as one line; it exits with 2."""
    result = invoked(*arguments)
    assert result.exit_code == 2
    return " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def file(tmp_path):
    def write(text, name="net.toml"):
        place = tmp_path / name
        place.write_text(text)
        return place

    return write


# Networks -------------------------------------------------------------------------------------------------------


def test_the_example_is_the_network_it_describes():
    build = NetworkBuilder()
    build.stream("packets", rate=100)
    build.stream("replies", rate=20)
    build.operator("big", "packets", cost=0.001, selectivity=0.1)
    windows = [Window("range", 5.0), Window("rows", 100.0)]
    build.join("echo", ["big", "replies"], cost=0.004, selectivity=0.05, windows=windows)
    build.operator("look", "big", cost=0.01, selectivity=1.5, kind="lookup", size=2)
    build.operator("sums.o1", "packets", cost=0.0005, selectivity=0.8)
    build.operator("sums.o2", "sums.o1", cost=0.002, selectivity=0.5)
    build.operator("sums.o3", "sums.o2", cost=0.003, selectivity=1)
    for name, root in (("echoes", "echo"), ("owners", "look"), ("sums", "sums.o3")):
        build.query(name, root)
    net, wanted = network_from(EXAMPLE), build.build()
    assert net.load == pytest.approx(wanted.load)
    assert [(*vars(op).values(),) for op in net.operators] == [(*vars(op).values(),) for op in wanted.operators]
    assert (net.streams, net.queries) == (wanted.streams, wanted.queries)


def test_json_files_are_read_alike(file):
    given = {
        "stream": [{"name": "a"}, {"name": "b", "rate": 2, "size": 3}],
        "operator": [{"name": "j", "inputs": ["a", "b"], "cost": ["1ms", 2], "windows": [3, 4], "size": 5}],
        "query": [{"root": "j"}],
    }
    net = network_from(file(json.dumps(given), "net.json"))
    assert [query.name for query in net.queries] == ["q1"]
    assert (net.operators[0].cost, net.operators[0].kind, net.sizes["j"]) == ((0.001, 2.0), "join", 5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = ", "cannot be read as TOML"),
        ("rates = 3", "a network has no key 'rates'. There are stream, operator, aggregate, query."),
        ("stream = 3", "stream must be a list of mappings"),
        (SHORT.split("[[query]]")[0], "there is no [[query]]"),
        (SHORT.replace("rate", "rte"), "stream 's' has no key 'rte'. Did you mean 'rate'?"),
        (SHORT.replace("rate = 10", "rate = 0"), "the rate of stream 's' must be above 0"),
        (SHORT.replace('name = "s"', "size = 1"), "[[stream]] number 1 has no name"),
        (SHORT.replace('stream = "s"', 'stream = "t"'), "operator 'q1.o1' reads 't', which is neither"),
        (SHORT.replace('stream = "s"\n', ""), "[[query]] number 1 needs a root or, in the short form, a stream"),
        (SHORT.replace('[["10ms", 1]]', "[]"), "a list of [cost, selectivity]"),
        (SHORT.replace('["10ms", 1]', "3"), "operator 1 of [[query]] number 1 must be [cost, selectivity], not 3"),
        (SHORT.replace("10ms", "10 parsec"), "has an unknown unit"),
        (SHORT.replace('"10ms"', "0"), "the cost of operator 'q1.o1' must be above 0"),
        (SHORT.replace('"10ms", 1', '"10ms", "x"'), "the selectivity of operator 'q1.o1' must be a number"),
        (SHORT + 'root = "s"', "[[query]] number 1 has a root"),
        (SHORT + '[[operator]]\nname = "o"\ncost = 1', "operator 'o' needs either an input"),
        (SHORT + '[[operator]]\nname = "o"\ninput = "s"', "operator 'o' has no cost"),
        (SHORT + '[[operator]]\nname = "o"\ninput = "s"\ncost = 1', "operator 'o' leads to no query"),
        (SHORT + '[[operator]]\nname = "o"\ninput = "s"\ncost = 1\nkind = "x"', "the unknown kind 'x'"),
        (SHORT + '[[operator]]\nname = "o"\ninput = "s"\ncost = 1\nwindows = 5', "the windows of operator 'o'"),
        (JOIN.replace("[5, 5]", "[5, 0.5]"), "holds 0.5 rows, which is not a whole number"),
        (JOIN + "selectivity = 2", "is above 1: it is the share of pairs that match"),
        (SHORT + '[[query]]\nname = "q"\nroot = "o"', "the root of query 'q', 'o', is not an operator"),
    ],
)
def test_wrong_files_are_told_with_the_place(text, told, file):
    place = file(text)
    message = refused(place)
    assert message.startswith(f"{place}: ")
    assert told in message


def test_files_of_another_kind_are_refused(file):
    assert "a .toml or .json file" in refused(file("SELECT 1", "script.sql"))
    assert "cannot be read as JSON" in refused(file("{", "net.json"))
    assert "a mapping with stream" in refused(file("[]", "net.json"))
    with pytest.raises(NetworkError, match="in the short form"):
        network_of({"query": [{"stream": "s"}]})


def test_populations_are_listed():
    result = invoked("--list")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert all(name in result.stdout for name in POPULATIONS)
    assert [row["name"] for row in json.loads(invoked("--list", "--json").stdout)] == list(POPULATIONS)


# Runs -----------------------------------------------------------------------------------------------------------


def test_a_population_is_simulated_as_from_python():
    found = simulated(
        "sclp08", "--queries", 5, "--load", 0.8, "--tuples", 500, "--seed", 3, "-p", "hnr", "-p", "fifo"
    )
    own = population("sclp08", queries=5, load=0.8, seed=3)
    result = simulator.simulate(own.network, own.times(3, count=500), "hnr", seed=3)
    assert [policy["policy"] for policy in found["policies"]] == ["hnr", "fifo"]
    assert found["policies"][0]["metrics"] == result.metrics
    assert found["policies"][0]["per_class"] == result.per_class(own.classes)
    assert set(result.metrics) == set(METRICS)
    assert (found["tuples"], found["queries"], found["load"]) == (500, 5, pytest.approx(0.8))


def test_a_deterministic_queue_has_the_response_worked_out_by_hand(file):
    """Tuples at 0, 5 and 15 ms, 10 ms each: departures at 10, 20, 30, so responses of 10, 15, 15."""
    trace = file("seen_ms\n100\n105\n115\n", "trace.csv")
    for option in (trace, f"s={trace}"):
        found = simulated(file(SHORT), "--trace", option, "-p", "fifo")
        metrics = found["policies"][0]["metrics"]
        assert metrics["avg_response"] == pytest.approx(0.040 / 3)
        assert (metrics["max_response"], metrics["outputs"]) == (pytest.approx(0.015), 3)
        assert metrics["avg_slowdown"] == pytest.approx(4 / 3)
    slowed = simulated(
        file(SHORT), "--trace", trace, "--rate", 2 / 0.030, "-p", "fifo"
    )  # half as fast: at 0, 10, 30
    assert slowed["policies"][0]["metrics"]["avg_slowdown"] == pytest.approx(1)
    paid = simulated(file(SHORT), "--trace", trace, "--setup-cost", "10ms", "-p", "fifo")
    assert paid["policies"][0]["metrics"]["max_response"] == pytest.approx(0.045)  # 60 − 15


def test_rates_loads_and_processes_change_what_arrives(file):
    net = file(SHORT)
    base = ("-p", "hr", "--tuples", 300)
    assert simulated(net, *base)["load"] == pytest.approx(0.1)
    assert simulated(net, *base, "--rate", 20)["load"] == pytest.approx(0.2)
    assert simulated(net, *base, "--rate", 20, "--load", 0.5)["load"] == pytest.approx(0.5)
    assert simulated("p04_filters", *base, "--arrivals", "poisson")["load"] == pytest.approx(0.9)
    assert simulated("p04_filters", *base, "--rate", 50)["load"] == pytest.approx(0.45)
    for kind in ("poisson", "bursty", "flows", "redrawn"):
        found = simulated(net, *base, "--arrivals", kind)
        assert (found["streams"][0]["arrivals"], found["tuples"]) == (kind, 300)
    timed = simulated(net, "-p", "hr", "--seconds", 10)
    assert timed["seconds"] < 10
    assert 60 < timed["tuples"] < 140


def test_levels_blocking_and_combinators_reach_the_simulator():
    found = simulated("bbdm03_join", "--tuples", 300, "-p", "bsd.every(20)", "--level", "operator")
    assert found["policies"][0]["name"] == "bsd.every(20).level('operator')"
    assert found["blocking"] is True
    assert simulated("bbdm03_join", "--tuples", 300, "-p", "hr", "--no-blocking")["blocking"] is False


def test_policies_are_chosen_by_goals():
    found = simulated(
        "bbdm03_four", "--tuples", 2000, "-p", "fifo", "-p", "chain", "--qos", "memory", "--selector", "foresight",
        "--selector", "roulette",
    )  # fmt: skip
    by_name = {each["policy"]: each for each in found["policies"]}
    assert list(by_name) == ["fifo", "chain", "foresight", "roulette"]
    assert by_name["chain"]["chosen"] is None
    assert by_name["foresight"]["chosen"]["shares"] == {"fifo": 0.0, "chain": 1.0}
    assert by_name["foresight"]["metrics"]["mean_memory"] == by_name["chain"]["metrics"]["mean_memory"]
    assert len({each["metrics"]["outputs"] for each in found["policies"]}) == 1
    screen = invoked("bbdm03_four", "--tuples", 500, "-p", "fifo", "-p", "chain", "--qos", "memory").output
    assert "foresight ran chain 100%; 0 changes; goals: minimize queue_memory 1." in screen


def test_the_screen_fits_and_marks_the_best():
    result = invoked(EXAMPLE, "--tuples", 1000, "-p", "fifo", "-p", "hnr", "-p", "bsd.level('operator').every(20)")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout
    for part in ("network.toml  3 queries, 6 operators, 2 streams", "1,000 tuples", "* best", "slowdown"):
        assert part in result.stdout
    assert "*" in result.stdout.split("fifo")[1]


def test_a_load_above_1_runs_and_says_so():
    result = invoked(EXAMPLE, "--load", 1.5, "--tuples", 1000, "-p", "hr")
    assert result.exit_code == 0
    assert "more arrives than one processor can do" in result.stdout


def test_notes_tell_what_changes_nothing(file):
    trace = file("time\n0\n1\n2\n", "trace.csv")
    notes = simulated(file(SHORT), "--trace", trace, "--tuples", 2, "--memory", 5, "-p", "hr")["notes"]
    assert any("the first 2 arrivals of the 3 in" in note for note in notes)
    assert any("The memory limit has no effect" in note for note in notes)
    silent = file(SHORT.replace('"10ms", 1', '"10ms", 0'), "silent.toml")
    result = invoked(silent, "--tuples", 10, "--report", silent.parent / "page.html")
    assert (result.exit_code, "No tuple produced a result" in result.stdout) == (0, True)


def test_the_report_stands_alone(tmp_path):
    page = tmp_path / "page.html"
    result = invoked("sclp08", "--queries", 5, "--tuples", 500, "-p", "hr", "-p", "fifo", "--report", page)
    assert result.exit_code == 0
    text = page.read_text()
    for part in (
        "Average slowdown",
        "Average response",
        "Memory of all queues",
        "Response over time",
        "class of queries",
    ):
        assert part in text
    assert "<script src" not in text


def test_ctrl_c_shows_what_is_finished(monkeypatch):
    real = simulator.simulate

    def pressed(net, times, policy, **options):
        if policy.name == "hr":
            raise KeyboardInterrupt
        return real(net, times, policy, **options)

    monkeypatch.setattr(simulator, "simulate", pressed)
    result = invoked(EXAMPLE, "--tuples", 200, "-p", "fifo", "-p", "hr", "-p", "hnr")
    assert result.exit_code == 130
    assert "Stopped: hr, hnr did not finish." in result.stdout
    assert "fifo" in result.stdout


# Refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("time\n0\n2\n1\n", "is not in order: row 3"),
        ("time\n-1\n0\n", "begins with the negative time -1"),
        ("time\n0\n-1\n", "is not in order: row 2"),
        ("time\n", "is empty"),
        ("time\n0\nnan\n", "has nothing in row 2"),
    ],
)
def test_traces_that_cannot_be(rows, told, file):
    assert told in refused(EXAMPLE, "--trace", file(rows, "trace.csv"))


def test_what_does_not_fit_is_refused_before_it_is_drawn():
    assert "GiB are free: reduce --tuples" in refused(EXAMPLE, "--tuples", 10**12)
    assert "GiB are free: reduce --tuples" in refused("sclp08", "--seconds", 1e12)


def test_a_stream_without_a_rate_needs_a_trace(file):
    net = file(SHORT.replace("rate = 10", ""))
    assert "stream 's' has no rate: give it one in the network file, or --trace s=FILE" in refused(net)
    assert simulated(net, "--trace", file("time\n0\n1\n", "trace.csv"), "-p", "hr")["load"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sclp8"], "Did you mean 'sclp08'?"),
        (["nowhere.toml"], "there is no file nowhere.toml"),
        ([], "give a network file or a population"),
        ([EXAMPLE, "-p", "hrn"], "there is no policy 'hrn'. Did you mean"),
        ([EXAMPLE, "-p", "bsd.evry(2)"], "Did you mean 'every'?"),
        ([EXAMPLE, "--qos", "latencies"], "Did you mean 'latency'?"),
        ([EXAMPLE, "--selector", "rulette"], "Did you mean 'roulette'?"),
        ([EXAMPLE, "--load", 0], "must be above 0"),
        ([EXAMPLE, "--load", "nan"], "must be above 0"),
        ([EXAMPLE, "--tuples", 9, "--seconds", 9], "cannot be combined"),
        ([EXAMPLE, "--level", "path"], "must be query or operator"),
        ([EXAMPLE, "--arrivals", "poison"], "Did you mean 'poisson'?"),
        ([EXAMPLE, "--queries", 3], "the queries of a file are fixed"),
        (["jc03", "--queries", 3], "the queries of population 'jc03' are fixed"),
        ([EXAMPLE, "--setup-cost", "-1"], "must be 0 or more"),
        ([EXAMPLE, "--column", "time"], "--column needs --trace"),
        ([EXAMPLE, "--trace", "nowhere.csv"], "there is no trace file nowhere.csv"),
        ([EXAMPLE, "--trace", "pakets=x.csv"], "Did you mean 'packets'?"),
    ],
)
def test_wrong_calls_exit_with_2(arguments, told):
    assert told in miscalled(*arguments)


def test_a_missing_column_is_a_wrong_call(file):
    trace = file("host,seen\na,1\n", "trace.csv")
    assert "has no column 'sen'. Did you mean 'seen'?" in miscalled(EXAMPLE, "--trace", trace, "--column", "sen")
    assert "two traces" in miscalled(EXAMPLE, "--trace", trace, "--trace", trace)
