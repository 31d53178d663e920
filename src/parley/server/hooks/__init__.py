"""Customers' addresses that are called during a run and may end it."""
