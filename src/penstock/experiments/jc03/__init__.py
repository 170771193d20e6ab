"""JC03 §5 again: latency, output and memory over time, while the rates are raised phase by phase."""
