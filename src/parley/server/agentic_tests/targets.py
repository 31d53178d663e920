"""The system under test: found by what a body calls it, told as a snapshot keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from parley.server.agentic_tests.repository import GatewayView
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables.ai_gateways import AiGateway
from parley.server.definitions.snapshot import Target
from parley.server.gateways.service import find
from parley.server.gateways.target import facts_of, prices_of
from parley.server.kit.text import is_storable
from parley.server.llm.integrated import IntegratedLlm, IntegratedLlms, is_integrated
from parley.server.llm.prices import FREE

UNKNOWN_TARGET = "is not a gateway of this account, nor an integrated llm of this service"
"""One wording for unknown and foreign ones, so that nobody can probe other accounts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTarget:
    """Exactly one of a gateway of the account and an integrated llm."""

    gateway: AiGateway | None = None
    llm: IntegratedLlm | None = None

    @property
    def gateway_id(self) -> UUID | None:
        """The gateway's id, if it is one."""
        return None if self.gateway is None else self.gateway.id

    @property
    def integrated_llm(self) -> str | None:
        """The integrated llm's slug, if it is one."""
        return None if self.llm is None else self.llm.slug


async def find_target(
    session: Session, scope: AccountScope, integrated: IntegratedLlms, reference: str
) -> FoundTarget | None:
    """What `reference` (slug, id, or `@vendor/name`) means to this account, or None.

    A gateway that was found cannot be deleted before the transaction ends.
    """
    if is_integrated(reference):
        llm = integrated.find(reference)
        return None if llm is None else FoundTarget(llm=llm)
    if not is_storable(reference):
        return None
    gateway = await find(session, scope, reference)
    if gateway is None or not await GatewayView(session, scope).hold(gateway.id):
        return None
    return FoundTarget(gateway=gateway)


def gateway_target(gateway: AiGateway) -> Target:
    """A gateway as a snapshot keeps it: settings and prices, nothing sealed."""
    return Target.gateway(
        id=str(gateway.id),
        slug=gateway.slug,
        name=gateway.name,
        settings=facts_of(gateway),
        prices=prices_of(gateway),
    )


def integrated_target(slug: str, llm: IntegratedLlm | None) -> Target:
    """An integrated llm as a snapshot keeps it; one that is no longer on offer has no prices."""
    return Target.integrated(slug, FREE if llm is None else llm.prices)
