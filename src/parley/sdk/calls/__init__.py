"""The calls of the API, one file per resource: descriptions, and the groups in which a client offers them."""
