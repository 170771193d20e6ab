"""P04 §6 again: policies chosen by the goals, against single ones, Figures 6.2 to 6.7."""
