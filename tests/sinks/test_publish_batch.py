"""Which parts are published together, and which of them the driver does not read."""

from pathlib import Path

from penstock.sinks.folder_layout import Staged
from penstock.sinks.publish_batch import Batch, next_batch

KB, MB = 1000, 1000 * 1000


def staged(*sizes: tuple[str, int], run: int = 1) -> list[Staged]:
    """Parts with these sizes; upper-case names are of groups, others of queries."""
    found = []
    for number, (name, size) in enumerate(sizes, 1):
        part = Staged((run, number), Path(f"{name}/part-{number}"), None if name.isupper() else name)
        part.__dict__["bytes"] = size  # the cached property: there is no file
        found.append(part)
    return found


def batches(parts: list[Staged], queries: int) -> list[Batch]:
    """All batches, in their order."""
    found = []
    while parts:
        found.append(next_batch(parts, queries))
        parts = parts[len(found[-1].parts) :]
    return found


def told(parts: list[Staged], queries: int) -> list[tuple[list[int], bool]]:
    return [([part.part[1] for part in each.parts], each.is_large) for each in batches(parts, queries)]


def test_small_parts_of_a_group_are_judged_together():
    """Ten parts of 2 MB for 100 queries: each alone would pass the driver, together they have 200 KB per query."""
    parts = staged(*[("G", 2 * MB)] * 10)
    assert told(parts, 100) == [(list(range(1, 11)), True)]
    assert told(parts, 101) == [(list(range(1, 11)), False)]


def test_parts_of_other_groups_and_runs_are_not_split_together():
    parts = staged(("G", 1 * MB), ("H", 1 * MB), ("G", 1 * MB))
    assert told(parts, 5) == [([1], True), ([2], True), ([3], True)]
    assert told(parts, 6) == [([1, 2, 3], False)]
    later = [*staged(("G", 1 * MB)), *staged(("G", 1 * MB), run=2)]
    assert [len(each.parts) for each in batches(later, 5)] == [1, 1]


def test_a_large_part_of_a_query_is_a_file_of_its_own():
    parts = staged(("q", 10 * KB), ("q", 300 * KB), ("q", 300 * KB), ("r", 10 * KB), ("G", 10 * KB))
    assert told(parts, 5) == [([1], False), ([2], True), ([3], True), ([4, 5], False)]


def test_the_driver_reads_a_bounded_number_of_bytes_at_a_time():
    assert told(staged(*[("G", 40 * MB)] * 4), 10_000) == [([1, 2], False), ([3, 4], False)]
    assert told(staged(("G", 1 * MB), ("G", 64 * MB)), 10_000) == [([1, 2], True)]
