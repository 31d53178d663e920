"""The hosted, multi-tenant service."""
