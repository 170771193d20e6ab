"""The end of the crash harness: kills by kind and fault point, and what was found, as a table or as JSON."""

from collections import Counter
from collections.abc import Sequence

from tests.storage.crash.round import Killed, RoundResult


def summary_of(results: Sequence[RoundResult], seed: int, points: Sequence[str]) -> dict:
    """All figures as plain values."""
    kills = [each for result in results for each in result.kills]
    done = [each for each in kills if not each.missed]
    starts = [each.start_s for each in kills if each.start_s is not None]
    java = [each.ended_s for each in done if each.kill.kind == "java"]
    differences = [each for result in results for each in result.differences if each.way != "penstock"]
    reached = Counter(each.kill.point for each in done if each.kill.kind == "fault")
    drains = [result.last_drain_s for result in results if result.last_drain_s is not None]
    return {
        "seed": seed,
        "rounds": len(results),
        "failed_rounds": [result.plan.number for result in results if result.failed],
        "kills": len(done),
        "missed": len(kills) - len(done),
        "kills_by_kind": dict(Counter(kind_of(each) for each in done)),
        "kills_by_point": {point: reached[point] for point in points if reached[point]},
        "points_never_reached": [
            point for point in points if not reached[point] and any(each.kill.point == point for each in kills)
        ],
        "rows_lost": sum(each.lost for each in differences),
        "rows_doubled": sum(each.doubled for each in differences),
        "rows_foreign": sum(each.foreign for each in differences),
        "reads": sum(result.reads for result in results),
        "reader_problems": dict(
            Counter(
                f"{each.kind}{'' if each.is_lasting else ' for a moment'}"
                for result in results
                for each in result.problems
            )
        ),
        "failures": sum(len(result.told()) for result in results),
        "mean_start_s": mean(starts),
        "max_start_s": max(starts, default=0.0),
        "mean_last_drain_s": mean(drains),
        "max_python_end_after_java_s": max(java, default=0.0),
    }


def kind_of(killed: Killed) -> str:
    early = " before it was up" if killed.start_s is None and killed.kill.kind != "fault" else ""
    return f"{killed.kill.kind}{early}"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(summary: dict) -> list[str]:
    """The lines of the summary."""
    lines = [("kills", f"{summary['kills']} in {summary['rounds']} rounds, {summary['missed']} missed")]
    lines += [(f"  {kind}", str(count)) for kind, count in sorted(summary["kills_by_kind"].items())]
    lines += [(f"    {point}", str(count)) for point, count in summary["kills_by_point"].items()]
    if summary["points_never_reached"]:
        lines += [("  points tried, never reached", ", ".join(summary["points_never_reached"]))]
    problems = ", ".join(f"{count} {kind}" for kind, count in summary["reader_problems"].items())
    lines += [
        ("rows lost", str(summary["rows_lost"])),
        ("rows doubled", str(summary["rows_doubled"])),
        ("rows foreign", str(summary["rows_foreign"])),
        ("reads while it ran", f"{summary['reads']:,}"),
        ("what readers found", problems or "nothing wrong"),
        ("start of a run", f"{summary['mean_start_s']:.1f} s, at most {summary['max_start_s']:.1f} s"),
        ("last run of a round", f"{summary['mean_last_drain_s']:.1f} s"),
        ("Python after Java died", f"ended within {summary['max_python_end_after_java_s']:.1f} s"),
        ("failures", str(summary["failures"])),
    ]
    return [f"{name:32} {value}" for name, value in lines]
