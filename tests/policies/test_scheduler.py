"""The decision: ties, turns, guards, modes, clusters, oracles."""

import pytest

import penstock as ps
from penstock.policies import POLICIES, Scheduler, Waiting


def look(**queues):
    """What waits, by unit: (arrival, number, length)."""
    return lambda unit: Waiting(*queues[unit.name]) if unit.name in queues else None


def chosen(scheduler, now=10, **queues):
    return [unit.name for unit in scheduler.choose(now, lambda u: look(**queues)(u))]


def operators(policy, queries=3, **kwargs):
    build = ps.NetworkBuilder()
    build.stream("s")
    for index in range(queries):
        build.operator(f"o{index}", "s", cost=1, selectivity=0.5)
        build.query(f"q{index}", f"o{index}")
    return Scheduler(build.build(), policy, **kwargs)


def test_nothing_waits_nothing_runs():
    assert operators(POLICIES["mtiq"]).choose(0, lambda unit: None) == ()


def test_ties_go_to_the_oldest_then_to_the_lower_id():
    scheduler = operators(POLICIES["mtiq"])
    assert chosen(scheduler, o0=(3, 1, 5), o1=(2, 0, 5), o2=(1, 2, 4)) == ["o1"]
    assert chosen(scheduler, o1=(2, 7, 5), o2=(2, 6, 5)) == ["o2"]
    assert chosen(scheduler, o1=(2, 7, 5), o2=(2, 7, 5)) == ["o1"]


def test_of_tuples_that_arrived_together_the_greater_static_part_goes_first():
    net = ps.Network.chains([[(5, 0.1)], [(1, 1)]], stream=["a", "b"])
    heads = {0: Waiting(0, 0, 1), 1: Waiting(0, 1, 1)}
    for name in ("bsd", "brt", "lsf"):
        assert Scheduler(net, POLICIES[name]).choose(0, lambda unit: heads[unit.id])[0].name == "b→q2.o1"


def test_at_age_nothing_the_greater_static_part_wins():
    net = ps.Network.chains([[(5.0, 1.0)], [(2.0, 1.0)]])
    scheduler = Scheduler(net, POLICIES["bsd"])
    assert scheduler.choose(0, lambda unit: Waiting(0, 0, 1))[0].name == "s→q2.o1"


def test_round_robin_passes_over_what_has_nothing_to_do():
    scheduler = operators(POLICIES["round_robin"])
    busy = {"o0": (0, 0, 1), "o1": (0, 0, 1), "o2": (0, 0, 1)}
    order = [chosen(scheduler, **busy)[0] for _ in range(4)]
    assert order == ["o0", "o1", "o2", "o0"]
    assert chosen(scheduler, o0=(0, 0, 1), o2=(0, 0, 1)) == ["o2"]
    assert chosen(scheduler, o1=(0, 0, 1), o2=(0, 0, 1)) == ["o1"]


def test_aurora_gives_every_query_its_turn_and_inside_it_the_best_rate_first():
    net = ps.Network.chains([[(1, 0.5), (1, 1.0)], [(9, 0.1), (1, 1.0)]])
    scheduler = Scheduler(net, POLICIES["aurora"])
    everything = lambda unit: Waiting(0, 0, 1)  # noqa: E731
    assert [scheduler.choose(1, everything)[0].name for _ in range(4)] == ["q1.o2", "q2.o2", "q1.o2", "q2.o2"]
    leaves = lambda unit: Waiting(0, 0, 1) if unit.name.endswith("o1") else None  # noqa: E731
    assert [scheduler.choose(1, leaves)[0].name for _ in range(2)] == ["q1.o1", "q2.o1"]


def test_every_nth_decision_goes_to_the_oldest_tuple():
    scheduler = operators(POLICIES["mtiq"].every(3))
    queues = {"o0": (5, 9, 100), "o2": (1, 0, 1)}
    assert [chosen(scheduler, **queues)[0] for _ in range(6)] == ["o0", "o0", "o2", "o0", "o0", "o2"]


def test_a_guarded_decision_does_not_move_the_cycle():
    scheduler = operators(POLICIES["round_robin"].every(2))
    busy = {"o0": (0, 0, 1), "o1": (5, 1, 1), "o2": (5, 2, 1)}
    assert [chosen(scheduler, **busy)[0] for _ in range(6)] == ["o0", "o0", "o1", "o0", "o2", "o0"]


def test_what_releases_less_than_nothing_gains_by_waiting_too():
    """A stored-table join that multiplies, alone with itself: the older and longer queue goes first."""
    build = ps.NetworkBuilder()
    build.stream("s")
    for name in ("o0", "o1"):
        build.operator(name, "s", cost=1, selectivity=3, kind="lookup")
        build.operator(f"{name}.root", name, cost=1)
        build.query(name, f"{name}.root")
    scheduler = Scheduler(build.build(), POLICIES["greedy"].by_age_and_length())
    assert chosen(scheduler, o0=(9, 9, 1), o1=(0, 0, 5)) == ["o1"]
    assert chosen(scheduler, o0=(10, 9, 1), o1=(9, 0, 1)) == ["o1"]  # of no age yet: last of all


def test_age_and_length_lift_what_starves():
    net = ps.Network.chains([[(1.0, 1.0)], [(4.0, 1.0)]])
    plain, fair = (Scheduler(net, p) for p in (POLICIES["hr"], POLICIES["hr"].by_age_and_length()))
    queues = {"s→q1.o1": Waiting(9, 9, 1), "s→q2.o1": Waiting(0, 0, 3)}
    assert plain.choose(10, lambda unit: queues[unit.name])[0].name == "s→q1.o1"  # 1 against 1/4
    assert fair.choose(10, lambda unit: queues[unit.name])[0].name == "s→q2.o1"  # 1·1·1 against 1/4·10·3


def test_the_set_up_cost_makes_batches_worth_waiting_for():
    net = ps.Network.chains([[(1.0, 1.0)], [(1.5, 1.0)]])
    scheduler = Scheduler(net, POLICIES["hr"])
    lonely, many = Waiting(0, 0, 1, batch=1, overhead=10), Waiting(0, 0, 40, batch=40, overhead=10)
    assert scheduler.choose(1, lambda u: lonely if u.id == 0 else many)[0].name == "s→q2.o1"


def test_the_set_up_cost_counts_for_clusters_and_cost_free_policies_alike():
    net = ps.Network.chains([[(1.0, 1.0)], [(1.5, 1.0)]])
    lonely, many = Waiting(0, 0, 1, batch=1, overhead=10), Waiting(0, 1, 40, batch=40, overhead=10)
    clustered = Scheduler(net, POLICIES["hr"].clustered(1))
    assert clustered.choose(1, lambda u: lonely if u.id == 0 else many)[0].name == "s→q2.o1"


def test_shared_operators_serve_the_query_whose_turn_it_is():
    """x is shared: it runs in the turn of either query, and the turn is that query's."""
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=1)
    for name in ("a", "b", "c"):
        build.operator(name, "x" if name != "c" else "s", cost=1)
        build.query(name, name)
    scheduler = Scheduler(build.build(), POLICIES["aurora"])
    waiting = {"x": (0, 0, 1), "c": (0, 0, 1)}
    assert [chosen(scheduler, **waiting)[0] for _ in range(6)] == ["x", "x", "c", "x", "x", "c"]


def test_memory_is_looked_at_less_often_while_there_is_plenty():
    net = ps.Network.chains([[(1, 0.5), (2, 1)]])
    policy = POLICIES["path_capacity"].threshold(POLICIES["segment"], memory=10, shortest=1, longest=20)
    scheduler = Scheduler(net, policy)
    scheduler.see_memory(0, 5, mean=2)  # half full: look again in 10
    scheduler.see_memory(9, 10, mean=2)
    assert scheduler.mode == "normal"
    scheduler.see_memory(10, 10, mean=2)
    assert (scheduler.mode, scheduler.must_shed) == ("saving", True)
    scheduler.see_memory(10.5, 1, mean=2)
    assert scheduler.mode == "saving"
    scheduler.see_memory(11, 1, mean=2)
    assert (scheduler.mode, scheduler.must_shed) == ("normal", False)


def test_a_scheduler_moves_to_another_network_and_keeps_its_place():
    everything = lambda unit: Waiting(0, 0, 1)  # noqa: E731
    net = ps.Network.chains([[(1, 1)]] * 4)
    for policy in (POLICIES["round_robin"], POLICIES["aurora"]):
        for served, gone, then in ((2, "q2", ["q3.o1", "q4.o1", "q1.o1"]), (3, "q2", ["q4.o1", "q1.o1", "q3.o1"])):
            scheduler = Scheduler(net, policy)
            for _ in range(served):
                scheduler.choose(0, everything)
            scheduler.move_to(net.unregister(gone).measured(costs={"q1.o1": 0.1}))
            assert [scheduler.choose(0, everything)[0].name for _ in range(3)] == then


def test_guarded_decisions_are_counted_across_the_modes():
    net = ps.Network.chains([[(1.0, 1.0)], [(4.0, 1.0)]])
    scheduler = Scheduler(net, POLICIES["path_capacity"].threshold(POLICIES["chain"], memory=10).every(3))
    heads = {"q1": Waiting(5, 9, 1), "q2": Waiting(0, 0, 1)}
    served = []
    for memory in (0, 10, 10, 0, 0, 0):
        scheduler.see_memory(0, memory, mean=1)
        name = scheduler.choose(9, lambda unit: heads[unit.path_features[0].query])[0].path_features[0].query
        served.append(name)
    assert served == ["q1", "q1", "q2", "q1", "q1", "q2"]


def test_threshold_changes_units_with_the_mode():
    net = ps.Network.chains([[(1, 0.5), (2, 1)]])
    scheduler = Scheduler(net, POLICIES["threshold"], memory=10)
    assert [unit.name for unit in scheduler.units] == ["s→q1.o1", "q1.o1→q1.o2"]
    scheduler.see_memory(0, 9, mean=2)
    assert scheduler.mode == "saving"
    assert [unit.name for unit in scheduler.units] == ["{q1.o1, q1.o2}"]
    scheduler.see_memory(1, 3, mean=2)
    assert scheduler.mode == "saving"
    scheduler.see_memory(2, 2, mean=2)
    assert scheduler.mode == "normal"


def test_a_cluster_takes_its_oldest_tuple_together():
    net = ps.Network.chains([[(1.0, 1.0)], [(1.1, 1.0)], [(1.2, 1.0)], [(50.0, 1.0)]])
    scheduler = Scheduler(net, POLICIES["bsd"].clustered(2))
    heads = {0: Waiting(2, 5, 1), 1: Waiting(2, 5, 1), 2: Waiting(4, 6, 1), 3: Waiting(2, 5, 1)}
    train = scheduler.choose(10, lambda unit: heads[unit.id])
    assert [unit.name for unit in train] == ["s→q1.o1", "s→q2.o1"]


def test_only_an_engine_that_knows_the_future_runs_an_oracle():
    scheduler = operators(POLICIES["hr_oracle"])
    with pytest.raises(ps.PolicyError, match="needs the fates of tuples, which this engine does not know"):
        scheduler.choose(0, lambda unit: Waiting(0, 0, 1))
