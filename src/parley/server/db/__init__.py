"""The database.

Conventions for whoever adds a table:

- One file per table in `tables/`, imported in `tables/__init__.py` (Alembic compares against that).
- A row of an account derives from `Owned` (and `Dated`): `class Run(Owned, Dated, Table)`. Its key is
  (account_id, id); ids come from `kit.ids.new_id`. Pick rows of all accounts (a worker's claim) by
  a unique index on `id`, declared in `__table_args__`.
- A foreign key to another account's-row table is `same_account("gateway_id", "ai_gateways")`: it
  carries the account id. Ledger rows have none to runs.
- Indexes of lists start with account_id and end with `id`: lists are ordered by id, newest first.
- Enumerations are text with a CHECK constraint named by what it says; money is `Decimal`
  (NUMERIC(20, 9)); JSONB values are replaced, never changed in place.
- A room's SQL stands in its `repository.py`, a subclass of `Repository[Row]`, made with an
  `AccountScope` or, in background work, a `SystemScope(reason)`. Rooms never commit.
- `async with database.session()` is one transaction; `async with database.raw()` an asyncpg
  connection in autocommit for the few statements of the hot path. Hold neither while waiting for
  an llm, a hook or a client.
- A migration is one file `migrations/versions/NNNN_what.py` with `revision = "NNNN"`. It runs in one
  transaction with a short lock timeout, must work with the code before it still running, and
  `scripts/check-migrations` has to find nothing left to generate.
"""
