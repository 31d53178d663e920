"""Attempts that the service asks this app to play: the mounted route, its host, its stores."""
