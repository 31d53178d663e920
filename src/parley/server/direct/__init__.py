"""Direct evaluations: one conversation streamed to the caller, of which nothing is stored but its cost."""
