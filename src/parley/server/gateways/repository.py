"""SQL of gateways."""

from __future__ import annotations

from parley.server.db.repository import Repository
from parley.server.db.tables import AiGateway


class GatewayRepository(Repository[AiGateway]):
    """The gateways of an account."""

    table = AiGateway

    async def by_slug(self, slug: str) -> AiGateway | None:
        """The gateway with this slug."""
        found: AiGateway | None = await self.session.scalar(self.rows().where(AiGateway.slug == slug))
        return found
