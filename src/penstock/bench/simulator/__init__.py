"""The simulator's benchmark: decisions per second by policy, beside its plain reference, a scan, and SimPy."""
