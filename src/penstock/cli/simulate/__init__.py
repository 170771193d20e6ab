"""`penstock simulate`: compares policies in virtual time."""
