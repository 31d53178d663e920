"""Everything on one machine: Postgres, Valkey, API, worker and demo llms as child processes."""
