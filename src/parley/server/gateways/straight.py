"""A gateway found over a raw connection, for what must begin at little cost."""

from __future__ import annotations

from typing import Final

from parley.server.db.raw import RawConnection
from parley.server.db.repository import AccountScope
from parley.server.db.tables import AiGateway
from parley.server.kit.ids import parse_id

_SEALED: Final = ("sealed_api_key", "sealed_headers")
_COLUMNS: Final = ", ".join(
    column.name for column in AiGateway.__table__.columns if column.name not in _SEALED
)
_BY_ID: Final = f"SELECT {_COLUMNS} FROM ai_gateways WHERE account_id = $1 AND id = $2"
_BY_SLUG: Final = f"SELECT {_COLUMNS} FROM ai_gateways WHERE account_id = $1 AND slug = $2"


async def find_straight(connection: RawConnection, scope: AccountScope, reference: str) -> AiGateway | None:
    """The gateway that a slug or an id means, without what is sealed. The row belongs to no session."""
    gateway_id = parse_id(reference)
    if gateway_id is None:
        row = await connection.fetchrow(_BY_SLUG, scope.account_id, reference)
    else:
        row = await connection.fetchrow(_BY_ID, scope.account_id, gateway_id)
    return None if row is None else AiGateway(**row)
