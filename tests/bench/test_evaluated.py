"""What the benchmark beside stock makes of result files that are right, late, or impossible."""

import numpy as np
import pytest

from penstock.bench.stock.case import StockCase
from penstock.bench.stock.inputs import Inputs
from penstock.bench.stock.outputs import READERS, ResultFile
from penstock.bench.stock.run import _batches, _evaluated

CASE = StockCase(
    "paced", "penstock", feeding="paced", selectivity=0.5, files=1, file_rows=100, warm_files=1, seconds=2.0
)
PART_S = 10.0
"""From the start of one part to that of the next."""


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """A function of what the last part's results are: seconds until they came, and when their rows arrived."""
    inputs = Inputs(CASE.made_workload(), tmp_path, CASE.seed)
    batches = [batch for _, batch in _batches(CASE, inputs, 200.0)]

    def evaluate(came_s, arrived_s):
        outputs = []
        for number, batch in enumerate(batches):
            is_last = number == len(batches) - 1
            came, arrived = (came_s, arrived_s) if is_last else (5.0, 1.0)
            sent = np.array([batch.sent_us + round(arrived * 1e6)])
            weights = np.array([batch.outputs])
            outputs.append(ResultFile(number * PART_S + came, {"q0": batch.outputs}, sent, weights))
        monkeypatch.setitem(READERS, "penstock", lambda out: iter(outputs))
        times = [{"start": number * PART_S, "settled": 0, "late_s": 0} for number in range(len(batches))]
        found = {"batches": times, "session_s": 1.0, "register_s": 1.0, "peak_bytes": 1}
        return _evaluated(CASE, CASE.made_workload(), inputs, batches, found, tmp_path)

    return evaluate


def test_responses_are_counted_from_arrivals(evaluated):
    measured = evaluated(came_s=6.0, arrived_s=1.5)
    assert measured.status == "ok"
    assert [run.avg_response for run in measured.runs] == pytest.approx([4.0, 4.5])


def test_a_result_before_its_row_is_wrong(evaluated):
    measured = evaluated(came_s=1.0, arrived_s=3.0)
    assert (measured.status, measured.reason) == (
        "wrong",
        "a result came 2.00 s before its row: the times of arrival are wrong",
    )


def test_a_result_in_another_part_is_wrong(evaluated):
    measured = evaluated(came_s=-1.0, arrived_s=0.0)
    assert measured.status == "wrong"
    assert "too early" in measured.reason
