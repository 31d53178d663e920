"""Fixtures of this folder."""

from tests.stage import stage as stage
from tests.stage import stage_settings as stage_settings
