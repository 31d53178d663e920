"""Removes what is old: ended runs with their entries, deleted tests, and rows that nobody needs any more."""
