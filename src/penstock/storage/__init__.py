"""State that survives: rows, a journal and checkpoints in a folder, from which a run goes on."""
