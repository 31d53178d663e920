"""AI gateways: the systems under test, their settings and their secrets."""
