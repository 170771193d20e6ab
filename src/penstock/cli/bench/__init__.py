"""`penstock bench`: the benchmarks, one file each."""
