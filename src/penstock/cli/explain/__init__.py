"""`penstock explain`: what a script would run."""
