"""Sinks, where results go: parquet files, memory, the screen, NDJSON, a Python function; and `read`."""
