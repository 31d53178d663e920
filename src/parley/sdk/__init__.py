"""What customers install: light, and independent of the service."""
