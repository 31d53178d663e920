"""What an account is told after its runs, where, and what became of it."""
