"""The gate: may this evaluation pass? A pure function of stored ratings, so it answers the same each time."""
