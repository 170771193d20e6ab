"""Sources of streams: generated rows, files, sockets, and any source of Structured Streaming."""

from penstock.spark.sources.source_kinds import opened_source

__all__ = ["opened_source"]
