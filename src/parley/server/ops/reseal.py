"""Seals every secret again with the key that stands first, so that an older one can be dropped.

Safe to cut and to run beside the service: a row that changes meanwhile is left as it was written, which
was with the first key already.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.raw import RawConnection
from parley.server.kit.crypto import Keyring, Place, UnsealError

BATCH: Final = 200
"""Rows read at once."""
_BEFORE_ALL: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """One column of sealed secrets: its table, the column of the row's id, and the field it is bound to."""

    table: str
    row_id: str
    column: str
    field: str


SEALED_COLUMNS: Final = (
    SealedColumn("ai_gateways", "id", "sealed_api_key", "api_key"),
    SealedColumn("ai_gateways", "id", "sealed_headers", "headers"),
    SealedColumn("remote_apps", "id", "sealed_service_key", "service_key"),
    SealedColumn("channels", "id", "sealed_url", "url"),
    SealedColumn("channels", "id", "sealed_secret", "secret"),
    SealedColumn("hook_keys", "account_id", "sealed_key", "key"),
    SealedColumn("hook_credentials", "run_id", "sealed", "credentials"),
)
"""All of them; a test finds a column that is missing here."""


@dataclass(slots=True)
class Resealed:
    """What became of one column. `lost` are rows that no key opens."""

    column: SealedColumn
    done: int = 0
    lost: list[str] = field(default_factory=list)


async def reseal(database: Database, keyring: Keyring, *, dry_run: bool = False) -> AsyncIterator[Resealed]:
    """Seal again what another key sealed, column by column; only count with `dry_run`.

    Raises `DatabaseAway`.
    """
    for column in SEALED_COLUMNS:
        yield await _column(database, keyring, column, dry_run=dry_run)


async def _column(database: Database, keyring: Keyring, column: SealedColumn, *, dry_run: bool) -> Resealed:
    found = Resealed(column)
    after = (_BEFORE_ALL, _BEFORE_ALL)
    while True:
        async with database.raw() as connection:
            rows = await connection.fetch(_read(column), *after, keyring.current_mark, BATCH)
            for account_id, row_id, sealed in rows:
                await _row(connection, keyring, found, (account_id, row_id, sealed), dry_run=dry_run)
        if len(rows) < BATCH:
            return found
        after = (rows[-1][0], rows[-1][1])


async def _row(
    connection: RawConnection,
    keyring: Keyring,
    found: Resealed,
    row: tuple[UUID, UUID, bytes],
    *,
    dry_run: bool,
) -> None:
    account_id, row_id, sealed = row
    place = Place(account_id, found.column.table, row_id, found.column.field)
    try:
        secret = keyring.open(sealed, place)
    except UnsealError as fault:
        found.lost.append(str(fault))
        return
    if not dry_run:
        await connection.execute(
            _write(found.column), account_id, row_id, sealed, keyring.seal(secret, place)
        )
    found.done += 1


def _read(column: SealedColumn) -> str:
    """Rows behind a place, sealed with another key than the first; the mark is their beginning."""
    return f"""
SELECT account_id, {column.row_id}, {column.column} FROM {column.table}
 WHERE (account_id, {column.row_id}) > ($1, $2) AND {column.column} IS NOT NULL
   AND substring({column.column} FROM 1 FOR length($3::bytea)) <> $3::bytea
 ORDER BY account_id, {column.row_id} LIMIT $4
"""


def _write(column: SealedColumn) -> str:
    return f"""
UPDATE {column.table} SET {column.column} = $4
 WHERE account_id = $1 AND {column.row_id} = $2 AND {column.column} = $3
"""


def lines_of(resealed: Sequence[Resealed]) -> list[str]:
    """What a person is told: a line for each column."""
    return [
        f"{one.done:>9}  {one.column.table}.{one.column.column}"
        + (f"  ({len(one.lost)} that no key opens)" if one.lost else "")
        for one in resealed
    ]
