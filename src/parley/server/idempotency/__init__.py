"""One request, one resource: what `Idempotency-Key` promises."""
