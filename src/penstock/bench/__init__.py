"""Benchmarks, behind `penstock bench`: one package each, with what they share beside them."""
