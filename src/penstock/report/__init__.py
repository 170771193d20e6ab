"""HTML pages with plots and tables of benchmarks and experiments. Nothing here imports Spark."""
