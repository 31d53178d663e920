"""Quotas: how often an account may start something, and where it stands."""
