"""The machine room of the simulator: flat arrays, compiled with numba, no Python object inside."""
