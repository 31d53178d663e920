"""The journal of runs: entries (run, seq) in Postgres, and the live bus in Redis."""
