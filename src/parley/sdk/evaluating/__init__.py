"""Evaluating an agent that runs in this process: it answers the cases of a dataset, the service judges."""
