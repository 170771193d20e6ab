"""Texts of the report: guarantees of each system, how the comparison was made fair, and what was left out."""

GUARANTEES = (
    (
        "Stock, one query each, and grouped by hand",
        "Every micro-batch writes its offsets to a log before it runs and to a commit log afterwards, and the "
        "file sink lists the files of a batch in a manifest: each result is in the output exactly once, also "
        "after a crash. Checkpoints are in the same temporary folder as all else.",
    ),
    (
        "Stock, foreachBatch",
        "Offsets and commits are logged likewise; what happens inside the function is at least once. Here each "
        "batch writes to folders named by its number and overwrites them if it is repeated, which makes it "
        "exactly once for those who read whole folders. As many writes run at a time as there are cores.",
    ),
    (
        "Penstock",
        "Without --state, queues and windows are kept in memory, and a result file appears as a whole or not at "
        "all; after a crash a run starts again. So stock does more work here: a part of its time goes into logs.",
    ),
    (
        "Penstock with --state",
        "Each commit is a journal entry, which is flushed to the disk, as are rows and results before it; each "
        "result is in the output exactly once, also after a crash or a loss of power. Stock leaves flushing to "
        "the operating system, so Penstock promises more here.",
    ),
)
"""Pairs of a system and what it guarantees."""

FAIRNESS = (
    "Both systems read the same parquet files, renamed into place, and write parquet; every case has a process "
    "and a Java of its own with the same heap, all cores, and files in the same kind of folder: in memory where "
    "the machine has /dev/shm, and on a disk if --state is compared.",
    "Stock runs as many shuffle partitions as there are cores (not 200), takes all files that are there in one "
    "micro-batch, starts the next one at once, and runs no micro-batches without data, as inner joins need none; "
    "all else is Spark's default.",
    "A result is out when the manifest that lists its file is there (stock), when the marker of its folder is "
    "there (foreachBatch), or when its file was renamed into place (Penstock). Times are read from the files "
    "afterwards. A run "
    "of a drain begins before the first rename and ends when the last file of results is out.",
    "Before anything is measured, warm-up files are processed; the start-up time is from a ready session until "
    "all queries have answered the first of them. Memory is the sum of the peaks of Python and its Java.",
    "The number of results of every query is compared with what numpy computes from the input.",
)
"""How the comparison is made."""

LEFT_OUT = (
    (
        "Real-time mode",
        "Spark has it since 4.1, for stateless queries, with Kafka in Spark's guide; joins of two streams are "
        "announced there for 4.3 or later. Tried with PySpark 4.3.0, it refuses files as input "
        "(STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED) and as output "
        "(STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST).",
    ),
    (
        "Asynchronous progress tracking",
        "It takes the offset and commit logs out of the way of a micro-batch; the guide shows it with Kafka. "
        "Tried with PySpark 4.3.0, the file sink and foreachBatch refuse it (“does not support async progress "
        "tracking”).",
    ),
)
"""Modes of stock that are not in the table, and why."""


def as_dict() -> dict[str, object]:
    """Return the texts as JSON."""
    return {
        "guarantees": [{"system": system, "text": text} for system, text in GUARANTEES],
        "how": list(FAIRNESS),
        "left_out": [{"mode": mode, "text": text} for mode, text in LEFT_OUT],
    }
