"""AN04: random queries, reoptimised under shedding."""
