"""The fields of a test: shapes, bounds, revision, snapshot, cron policy. Pure."""
