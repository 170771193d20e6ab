"""JC03 §5 reproduced: latency, output and memory over time, while the rates are raised phase by phase."""
