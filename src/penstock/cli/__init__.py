"""The `penstock` command: one file a sub-command."""
