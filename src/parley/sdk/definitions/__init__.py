"""Tests as code: a YAML file, what it would change on the service, and the change itself."""
