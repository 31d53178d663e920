"""The simulated user: who it is, what it is told, and what of its replies may be heard."""
