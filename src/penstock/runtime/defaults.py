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
COMMIT_US = 50_000
"""With a state: how long finished work may wait to be committed with other work, in microseconds."""
PUBLISH_OF_STATE_US = 60_000_000
"""With a state, how often results are published: published files never change, and should not be too many."""
IN_FLIGHT = 1
"""Jobs at the same time."""
