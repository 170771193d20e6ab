"""`penstock run`: a script on Spark."""
