"""Parley tests conversational agents the way people use them."""
