"""How the benchmark measures, for its report."""

HOW = (
    "All systems read the same files, in memory where the machine has such a folder, and write parquet. Every "
    "case has a process and a Java of its own; the driver has the same heap in all of them.",
    "A drain takes all files, from the call until all results are committed, in a session that has drained "
    "the same files twelve times, or for fifteen seconds. Penstock then publishes them: results of a group are "
    "split by query, which the other systems do not do; `ended_s` has the time with it. The time of a case is the "
    "median of its drains; an interval is from the fastest to the slowest. Ratios are of medians, with the 95 % "
    "interval of a bootstrap.",
    "One batch job: Spark reads the files with their schema, filters and writes once. Many filters are a "
    "broadcast join with the table of their constants. A window join is one join on the key and on times at "
    "most a window apart, which is what two RANGE windows of the same length mean.",
    "Stock, one each: a streaming query for each query, trigger availableNow, the parquet file sink. It takes all "
    "files in one micro-batch, which suits a drain best.",
    "Stock, grouped by hand: one streaming query, availableNow, whose foreachBatch joins all files with the table "
    "of constants and writes once.",
    "Stock and the batch job run as many shuffle partitions as this machine has cores; all else is Spark's "
    "default. Window joins of stock are in `penstock bench stock`: at this size they take hours.",
    "The number of results of every query, and the sum of a hash of each, are compared with what numpy computes "
    "from the input, after every drain.",
    "Bytes through the driver are those that Penstock counts wherever rows enter or leave its process; the "
    "input's are those of the columns that the queries read, as Arrow in memory. Scans of files are counted by "
    "Penstock; of other systems they are what Spark's status page says. Memory is the peak of the driver's "
    "Python, and CPU time that of its processes.",
)
