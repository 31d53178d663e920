"""A gateway as the rooms above need it: an llm to call, and its prices."""

from __future__ import annotations

from parley.server.db.tables import AiGateway
from parley.server.gateways.secrets import open_api_key, open_headers
from parley.server.kit.crypto import Keyring
from parley.server.llm.endpoint import LlmEndpoint, LlmSettings
from parley.server.llm.prices import Prices


def endpoint_of(row: AiGateway, keyring: Keyring) -> LlmEndpoint:
    """Where the gateway lives and how it is asked, secrets included. Raises `UnsealError`."""
    return LlmEndpoint(
        base_url=row.base_url,
        model=row.model,
        api_key=open_api_key(keyring, row),
        headers=open_headers(keyring, row),
        system_instruction=row.system_instruction,
        settings=LlmSettings(
            temperature=row.temperature,
            top_p=row.top_p,
            max_completion_tokens=row.max_completion_tokens,
            stop=tuple(row.stop) or None,
            seed=row.seed,
            reasoning_effort=row.reasoning_effort,
            tools=tuple(row.tools),
            extra_body=row.extra_body,
        ),
    )


def prices_of(row: AiGateway) -> Prices:
    """What its tokens cost the account."""
    return Prices(input=row.input_price_usd, cached=row.cached_price_usd, output=row.output_price_usd)
