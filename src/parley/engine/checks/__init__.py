"""Deterministic checks of an answer: no llm, no I/O, none of a customer's code.

Patterns run in RE2 and schemas under a budget of steps, so that no check can hold a process up. Import
the file you need: the libraries behind `patterns` and `schema` are loaded at the first use, never by an
import.
"""
