"""Penstock beside stock Structured Streaming: the same input and queries through both."""
