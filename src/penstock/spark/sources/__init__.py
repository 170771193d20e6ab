"""Where rows come from: generated, files, sockets, and any source of Structured Streaming."""

from penstock.spark.sources.source_kinds import opened_source

__all__ = ["opened_source"]
