"""Accounts, plans, API keys, gateways, idempotency keys; the three plans."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    plans = op.create_table(
        "plans",
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("runs_per_minute", sa.Integer(), nullable=True),
        sa.Column("concurrent_runs", sa.Integer(), nullable=False),
        sa.Column("multiplier", sa.Numeric(precision=8, scale=4), nullable=False),
        sa.Column("metered", sa.Boolean(), nullable=False),
        sa.CheckConstraint("concurrent_runs > 0", name=op.f("ck_plans_concurrent_runs_positive")),
        sa.CheckConstraint("multiplier >= 0", name=op.f("ck_plans_multiplier_not_negative")),
        sa.CheckConstraint("runs_per_minute > 0", name=op.f("ck_plans_runs_per_minute_positive")),
        sa.PrimaryKeyConstraint("code", name=op.f("pk_plans")),
    )
    op.bulk_insert(
        plans,
        [
            {
                "code": "free",
                "runs_per_minute": 5,
                "concurrent_runs": 1,
                "multiplier": "1.25",
                "metered": True,
            },
            {
                "code": "pro",
                "runs_per_minute": 30,
                "concurrent_runs": 4,
                "multiplier": "1.05",
                "metered": True,
            },
            {
                "code": "max",
                "runs_per_minute": None,
                "concurrent_runs": 8,
                "multiplier": "1.00",
                "metered": True,
            },
        ],
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("balance", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("owner_email", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("status IN ('active', 'suspended')", name=op.f("ck_accounts_status_known")),
        sa.ForeignKeyConstraint(["plan"], ["plans.code"], name=op.f("fk_accounts_plan")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "ai_gateways",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("sealed_api_key", sa.LargeBinary(), nullable=True),
        sa.Column("sealed_headers", sa.LargeBinary(), nullable=True),
        sa.Column(
            "header_names", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False
        ),
        sa.Column("system_instruction", sa.Text(), nullable=True),
        sa.Column("temperature", sa.Double(), nullable=True),
        sa.Column("top_p", sa.Double(), nullable=True),
        sa.Column("max_completion_tokens", sa.Integer(), nullable=True),
        sa.Column("stop", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_effort", sa.Text(), nullable=True),
        sa.Column("tools", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("extra_body", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("forward_metadata", sa.Text(), server_default="body", nullable=False),
        sa.Column("input_price_usd", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("cached_price_usd", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("output_price_usd", sa.Numeric(precision=20, scale=9), server_default="0", nullable=False),
        sa.Column("first_token_timeout_s", sa.Double(), nullable=True),
        sa.Column("idle_timeout_s", sa.Double(), nullable=True),
        sa.Column("inference_timeout_s", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "forward_metadata IN ('body', 'headers', 'none')",
            name=op.f("ck_ai_gateways_forward_metadata_known"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_ai_gateways_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_ai_gateways")),
        sa.UniqueConstraint("account_id", "slug", name=op.f("uq_ai_gateways_account_id_slug")),
    )
    op.create_table(
        "api_keys",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind IN ('private', 'public')", name=op.f("ck_api_keys_kind_known")),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("ck_api_keys_sha256_length")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_api_keys_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("sha256", name=op.f("uq_api_keys_sha256")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("account_id", sa.Uuid(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("resource_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_idempotency_keys_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", "route", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_idempotency_keys_created_at"), table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
    op.drop_table("api_keys")
    op.drop_table("ai_gateways")
    op.drop_table("accounts")
    op.drop_table("plans")
