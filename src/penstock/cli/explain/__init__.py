"""`penstock explain`: shows the plan of a script."""
