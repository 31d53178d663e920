"""Agentic tests: create, read, change, list, delete; what a run of one starts from."""
