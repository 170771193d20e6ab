"""What queries become: operators, groups, one network, and the orders in which joins probe."""
