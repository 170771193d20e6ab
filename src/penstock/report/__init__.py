"""Pages with plots and tables, made of what benchmarks and experiments found. Nothing here knows Spark."""
