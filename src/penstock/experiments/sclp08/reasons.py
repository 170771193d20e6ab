"""Why claims do not hold here: what was found when it was looked into, by figure and claim."""

REASONS: dict[tuple[int, str], str] = {}
