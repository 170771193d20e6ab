"""`penstock reproduce`: the papers' experiments."""
