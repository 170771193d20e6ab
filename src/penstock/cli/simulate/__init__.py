"""`penstock simulate`: policies side by side in virtual time."""
