"""`penstock bench`: a file per benchmark."""
