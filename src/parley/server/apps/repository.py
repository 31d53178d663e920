"""SQL of remote apps."""

from __future__ import annotations

from parley.server.db.repository import Repository
from parley.server.db.tables import RemoteApp


class AppRepository(Repository[RemoteApp]):
    """The remote apps of an account."""

    table = RemoteApp

    async def by_slug(self, slug: str) -> RemoteApp | None:
        """The app with this slug."""
        found: RemoteApp | None = await self.session.scalar(self.rows().where(RemoteApp.slug == slug))
        return found
