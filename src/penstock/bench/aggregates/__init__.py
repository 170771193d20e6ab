"""Aggregates over windows: Penstock beside stock Structured Streaming, with the usual ways to write them there."""
