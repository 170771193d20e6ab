"""Large files: Penstock beside one batch Spark job and stock Structured Streaming over the same files."""
