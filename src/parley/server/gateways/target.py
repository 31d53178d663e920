"""A gateway as the rooms above need it: its facts, an llm to call, and its prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from parley.server.db.tables import AiGateway
from parley.server.gateways.vault import GatewaySecrets, opened
from parley.server.kit.crypto import Keyring
from parley.server.llm.endpoint import LlmEndpoint, LlmSettings
from parley.server.llm.prices import Prices

GATEWAY_FACTS: Final = (
    "base_url",
    "model",
    "system_instruction",
    "temperature",
    "top_p",
    "max_completion_tokens",
    "stop",
    "seed",
    "reasoning_effort",
    "tools",
    "header_names",
    "extra_body",
    "forward_metadata",
    "first_token_timeout_s",
    "idle_timeout_s",
    "inference_timeout_s",
)
"""What is told of a gateway. Nothing else is copied, so that no secret can slip in."""


def facts_of(row: AiGateway) -> dict[str, Any]:
    """The settings of a gateway, without secrets and prices."""
    return {fact: getattr(row, fact) for fact in GATEWAY_FACTS}


def endpoint_from(facts: Mapping[str, Any], secrets: GatewaySecrets) -> LlmEndpoint:
    """Where a gateway lives and how it is asked. What older `facts` do not tell is left to the provider."""
    return LlmEndpoint(
        base_url=facts["base_url"],
        model=facts["model"],
        api_key=secrets.api_key,
        headers=secrets.headers,
        system_instruction=facts.get("system_instruction"),
        settings=LlmSettings(
            temperature=facts.get("temperature"),
            top_p=facts.get("top_p"),
            max_completion_tokens=facts.get("max_completion_tokens"),
            stop=tuple(facts.get("stop") or ()) or None,
            seed=facts.get("seed"),
            reasoning_effort=facts.get("reasoning_effort"),
            tools=tuple(facts.get("tools") or ()),
            extra_body=facts.get("extra_body") or {},
        ),
    )


def endpoint_of(row: AiGateway, keyring: Keyring) -> LlmEndpoint:
    """Where the gateway lives as it stands now, secrets included. Raises `UnsealError`."""
    return endpoint_from(facts_of(row), opened(row, keyring))


def prices_of(row: AiGateway) -> Prices:
    """What its tokens cost the account."""
    return Prices(input=row.input_price_usd, cached=row.cached_price_usd, output=row.output_price_usd)
