"""The texts of a test's resources, as the parties of its conversation read them."""

from __future__ import annotations

from parley.server.definitions.snapshot import Snapshot
from parley.server.resources.reader import ResourceReader


async def with_texts(snapshot: Snapshot, resources: ResourceReader) -> Snapshot:
    """The snapshot with its resources read, unless they were before. Raises `ResourceUnavailable`."""
    if snapshot.resource_texts is not None:
        return snapshot
    return snapshot.with_resource_texts(await resources.texts(snapshot.fields["resources"]))
