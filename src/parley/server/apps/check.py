"""Discovery: what an app offers, or why it cannot be asked."""

from __future__ import annotations

from typing import Any

from parley.engine.ports import Clock
from parley.engine.script.protocol import Manifest
from parley.server.apps.client import AppClient
from parley.server.apps.faults import AppFault


async def check_app(client: AppClient, clock: Clock) -> tuple[int, Manifest | AppFault]:
    """Ask an app what it offers; nothing of it runs. Milliseconds it took, and what came of it."""
    began_s = clock.monotonic_s()
    found: Manifest | AppFault
    try:
        found = await client.manifest()
    except AppFault as fault:
        found = fault
    return round((clock.monotonic_s() - began_s) * 1000), found


def offer_of(manifest: Manifest) -> dict[str, Any]:
    """What is kept of a manifest: small, whatever the suites hold."""
    told = manifest.wire()
    kept = ("protocolVersion", "client", "capacity", "handlers", "judge", "commit", "appVersion")
    suites = [
        {
            "id": offer.suite.id,
            "name": offer.suite.name,
            "revision": offer.revision,
            "cases": len(offer.suite.cases),
        }
        for offer in manifest.suites
    ]
    return {name: told[name] for name in kept if name in told} | {"suites": suites}


def suites_of(manifest: Manifest) -> list[dict[str, Any]]:
    """The suites with the policy that holds there, so that here they come to the same revision."""
    return [{**offer.suite.wire(), "evidence": offer.evidence.wire()} for offer in manifest.suites]
