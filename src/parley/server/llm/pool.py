"""The connections to llms: two pools, built once for a process and shared by everything in it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from parley.server.llm.endpoint import NOTHING_FORWARDED, Forwarded, LlmEndpoint
from parley.server.llm.transport import OpenAiSpeaker
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import Lookup, SystemLookup
from parley.server.outbound.wires import Guard, Wires


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """Sizes of the pools. A conversation uses one connection at a time, so its number is enough.

    `connect_timeout_s` bounds waiting for a free connection, lookup, dialling and TLS together.
    """

    operator_connections: int = 512
    customer_connections: int = 512
    connect_timeout_s: float = 10.0


class LlmPool:
    """Makes speakers that share connections. Build it inside the running loop, close it at the end.

    Operators' llms are called as configured; customers' addresses only through the guard. TLS
    set-up costs 50 ms a context, so there is one context for both pools.
    """

    def __init__(
        self,
        limits: PoolLimits,
        policy: OutboundPolicy,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits
        self._own_lookup: SystemLookup | None = None
        if lookup is None:
            lookup = self._own_lookup = SystemLookup()
        context = tls or tls_context()
        guard = Guard(policy, lookup)
        self._operators = Wires(limit=limits.operator_connections, tls=context)
        self._customers = Wires(limit=limits.customer_connections, tls=context, guard=guard)

    def operator_speaker(
        self, endpoint: LlmEndpoint, forwarded: Forwarded = NOTHING_FORWARDED
    ) -> OpenAiSpeaker:
        """A speaker for an llm that the operator configured."""
        return self._speaker(self._operators, endpoint, forwarded)

    def customer_speaker(
        self, endpoint: LlmEndpoint, forwarded: Forwarded = NOTHING_FORWARDED
    ) -> OpenAiSpeaker:
        """A speaker for a gateway whose address a customer wrote."""
        return self._speaker(self._customers, endpoint, forwarded)

    async def close(self) -> None:
        """Close all connections, open calls included."""
        await self._operators.close()
        await self._customers.close()
        if self._own_lookup is not None:
            self._own_lookup.close()

    def _speaker(self, wires: Wires, endpoint: LlmEndpoint, forwarded: Forwarded) -> OpenAiSpeaker:
        return OpenAiSpeaker(
            wires, endpoint, forwarded=forwarded, connect_timeout_s=self._limits.connect_timeout_s
        )


def tls_context() -> ssl.SSLContext:
    """A context that verifies against the system's certificates (`SSL_CERT_FILE` adds others)."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
