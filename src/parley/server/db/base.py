"""The base of every table."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    MetaData,
    Numeric,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from parley.server.kit.ids import new_id


class Table(DeclarativeBase):
    """The base of every table: constraint names that migrations can rely on, and column types."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    __mapper_args__ = {"eager_defaults": True}  # noqa: RUF012 - the base declares it on the instance
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        UUID: Uuid(),
        str: Text(),
        int: BigInteger(),
        datetime: DateTime(timezone=True),
        Decimal: Numeric(20, 9),
        dict[str, Any]: JSONB(),
        dict[str, str]: JSONB(),
        list[Any]: JSONB(),
        list[str]: JSONB(),
        list[dict[str, Any]]: JSONB(),
    }


class Owned:
    """Columns of a row that belongs to an account. The key is (account_id, id), ids are UUIDv7."""

    account_id: Mapped[UUID] = mapped_column(
        ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, sort_order=-2
    )
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id, sort_order=-1)


class Dated:
    """When a row was made and last changed through the ORM: the start of that transaction."""

    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


def same_account(column: str, table: str, *, ondelete: str | None = None) -> ForeignKeyConstraint:
    """A foreign key that carries the account id, so that the database refuses a foreign account's row."""
    return ForeignKeyConstraint(
        ["account_id", column], [f"{table}.account_id", f"{table}.id"], ondelete=ondelete
    )
