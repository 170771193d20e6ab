"""How far selectors are from the best single policy in hindsight."""
