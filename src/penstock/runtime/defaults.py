"""Defaults of the settings of a run."""

POLICY = "bsd"
MEMORY = 256 * 1024 * 1024
"""Bytes that may wait."""
CHUNK_ROWS = 50_000
"""Rows of a chunk at most."""
CHUNK_US = 100_000
"""Time that a chunk of a generated stream covers, in microseconds."""
QUANTUM_US = 500_000
"""Time that a train of units takes at most, in microseconds."""
PUBLISH_US = 5_000_000
"""How often results are published, in microseconds."""
IN_FLIGHT = 1
"""Jobs at the same time."""
