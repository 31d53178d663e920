"""Runs: start, admit, claim, execute, cancel, stream, export, sweep."""
