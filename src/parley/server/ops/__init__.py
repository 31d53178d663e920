"""Operator commands and the local stack."""
