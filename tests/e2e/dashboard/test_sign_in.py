"""Signing in and out, by key and by link."""

from __future__ import annotations

import pytest

from tests.e2e.dashboard.conftest import Seen
from tests.stage import Stage

pytestmark = [pytest.mark.e2e]


async def test_signs_in_with_a_key(fresh: Seen, stage: Stage) -> None:
    await fresh.open("/tests")
    await fresh.heading("Sign in to Parley")
    await fresh.looks_accessible()
    await fresh.page.get_by_label("Private key").fill(stage.tenant.private.token)
    await fresh.page.get_by_role("button", name="Sign in").click()
    await fresh.heading("Tests")
    await fresh.page.screenshot(path="/tmp/shot.png")
