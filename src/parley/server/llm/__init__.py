"""Calls to llms: the operator's and the customers', their profiles, names and prices."""
