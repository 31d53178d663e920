"""What runs, direct evaluations and suites share: parties, guard, charging, and the wire's events."""
