"""Learning while a system runs, in edge cases: selectivities of 1, and queues that are empty at times."""

from penstock.policies import QueueShare
from penstock.qos import Estimates, Selection
from penstock.simulator.simulate import simulate
from penstock.workloads import population


def test_what_passes_everything_has_a_share_of_one_to_the_last_bit():
    estimates = Estimates({"o": 1.0, "drifted": 0.3})
    for taken in range(100, 2000, 37):
        for name in ("o", "drifted"):
            estimates.add(name, taken, taken)
        assert estimates.values["o"] == 1.0
        assert estimates.values["drifted"] <= 1.0


def test_foresight_is_not_misled_by_queues_that_are_empty_now_and_then():
    """Alone, Chain and MTIQ keep 150 to 200 tuples on this plan, FIFO and round robin about 300."""
    made = population("p04_join")
    for seed in (3, 4):
        selection = Selection(
            "minimize queue_size", candidates=("round_robin", "chain", "fifo", "mtiq"), warmup=5.0
        )
        times = made.times(seed, seconds=200.0)
        chosen = simulate(made.network, times, selection, seed, service=QueueShare(0.3, 50)).chosen
        assert chosen.shares["chain"] > 0.5, f"seed {seed}"
