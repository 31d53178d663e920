"""What operators see of the service: metrics and traces. Wraps ports; no conversation depends on it."""
