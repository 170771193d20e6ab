"""How the benchmark measures, for its report."""

HOW = (
    "All systems read the same parquet files, renamed into place, and write parquet. Every case has a process "
    "and a Java of its own with the same heap and as many shuffle partitions as cores. Folders are in memory "
    "where the machine has /dev/shm; those of the part `keys` are on a disk.",
    "A window closes when a row at or after its end has been read, in stock (withWatermark of 0 seconds, "
    "append mode) as in Penstock (lateness 0). So a drained part ends with a file of 100 rows so much later "
    "that all windows before it close. Spark moves a query's watermark by the rows that pass its filter only; "
    "so each file ends with rows for all filters. Its time is from the first rename until the last file of "
    "results is committed, as in `penstock bench stock`. Throughput is the rows of the part by its time.",
    "Stock, one each: a streaming query per query, `groupBy(window(…), k)`. Micro-batches without data are on, "
    "Spark's default, as they close windows. The state store is Spark's default, which keeps state in files, "
    "or RocksDB; the better one counts.",
    "Stock by hand, joined with constants: one streaming query; each row is joined with a broadcast table of "
    "the queries' constants, repeated for every window that it is in, and grouped by query, window and key.",
    "Stock by hand, finest panes: one streaming query of two aggregations; the first has every filter as a "
    "condition of its aggregates, by the pane of which all windows consist; the second merges panes into "
    "windows. Both mark the window's end by hand as a column with event times, because Spark's `window` has "
    "one size only.",
    "Cost per query: seconds to drain the same input ÷ number of queries. The constants in WHERE are slices of "
    "0.1 % each, so that 1,000 queries read each row once; there are ten keys, so that a "
    "group has ten rows. Slices of 1 % are measured and have no requirement.",
    "Many keys: a part lasts as long as a window, with two rows of a key on average; eight parts are drained. "
    "After four of them the process is killed, and a new one goes on with Penstock's state, or with stock's "
    "checkpoint. "
    "Throughput includes the start of the queries in the new process. Memory is the peak of each process; its "
    "growth is the peak of Python after four parts of a process ÷ after two.",
    "From close to result: a file is due every half second, at a quarter of the rate that stock drained with "
    "one query each. A result's time counts from when the file was due whose row moved the watermark past the "
    "end of the result's window, until its file is committed. The average is over all result rows.",
    "Each part is repeated in the same process and the median counts, so that a first part in which Java is not "
    "warm does not. Each case says how often.",
    "Results are compared by query and window with what numpy computes from the input: the number of rows, the "
    "sums of both aggregates, and a sum of a hash of each row.",
)
