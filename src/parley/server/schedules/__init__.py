"""Starts tests when they are due: any number of schedulers, one run for each due time."""
