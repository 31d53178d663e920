"""AI gateways: the systems under test."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlalchemy import CheckConstraint, Double, Integer, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table
from parley.server.kit.money import ZERO_USD


class AiGateway(Owned, Dated, Table):
    """One gateway. The key and the values of the headers are sealed."""

    __tablename__ = "ai_gateways"
    __table_args__ = (
        UniqueConstraint("account_id", "slug"),
        CheckConstraint("forward_metadata IN ('body', 'headers', 'none')", name="forward_metadata_known"),
    )

    name: Mapped[str]
    slug: Mapped[str]
    """`name:last4`; stays as it was made when the name changes, so that callers' references hold."""
    base_url: Mapped[str]
    model: Mapped[str]
    sealed_api_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    sealed_headers: Mapped[bytes | None] = mapped_column(LargeBinary)
    """A JSON object of names and values, sealed as one."""
    header_names: Mapped[list[str]] = mapped_column(default=list, server_default="[]")
    system_instruction: Mapped[str | None]
    temperature: Mapped[float | None] = mapped_column(Double)
    top_p: Mapped[float | None] = mapped_column(Double)
    max_completion_tokens: Mapped[int | None] = mapped_column(Integer)
    stop: Mapped[list[str]] = mapped_column(default=list, server_default="[]")
    seed: Mapped[int | None]
    reasoning_effort: Mapped[str | None]
    tools: Mapped[list[dict[str, Any]]] = mapped_column(default=list, server_default="[]")
    extra_body: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")
    forward_metadata: Mapped[str] = mapped_column(default="body", server_default="body")
    input_price_usd: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """Prices are US dollars per million tokens."""
    cached_price_usd: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    output_price_usd: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    first_token_timeout_s: Mapped[float | None] = mapped_column(Double)
    """NULL timeouts follow the operator's settings."""
    idle_timeout_s: Mapped[float | None] = mapped_column(Double)
    inference_timeout_s: Mapped[float | None] = mapped_column(Double)
