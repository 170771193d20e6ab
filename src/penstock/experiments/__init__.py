"""The papers' examples and figures, run and compared with what was printed."""
