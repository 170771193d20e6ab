"""SCLP08 §9: many heterogeneous queries, Figures 6 to 30."""
