"""Policies on Spark: thirty queries of very different cost and selectivity, near saturation, in bursts."""
