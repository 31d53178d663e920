"""The pictures of the docs, taken of demo data: `make screenshots` keeps them in docs/images."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

from playwright.async_api import Page, expect

from parley.server.llm.demo.stories import RETURN, definition_bodies
from tests.e2e.dashboard.demo_history import begin_run, make_ends, make_history, rules_of
from tests.e2e.dashboard.seen import NARROW, Seen
from tests.stage import Stage

WANTED = "PARLEY_TEST_SCREENSHOTS"
"""Set to 1, the pictures go to docs/images instead of a folder of the test."""
IMAGES = Path(__file__).parents[3] / "docs" / "images"
LARGEST = 200_000
"""Bytes of one picture."""


class Camera:
    """Takes pictures of a page in a folder."""

    def __init__(self, page: Page, folder: Path) -> None:
        self._page = page
        self._folder = folder

    async def take(self, name: str, *, scheme: Any = "light", size: tuple[int, int] = (1280, 860)) -> None:
        """One picture, once nothing moves or loads."""
        page = self._page
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        await expect(page.locator(".loading")).to_have_count(0)
        await page.wait_for_load_state("networkidle")
        target = self._folder / f"dashboard-{name}.png"
        await page.screenshot(path=target, animations="disabled")
        assert target.stat().st_size < LARGEST, name


async def finished_story(stage: Stage) -> str:
    """The dashboard's address of the demo's first conversation, carried out."""
    body = next(one for one in definition_bodies(stage.gateway["slug"]) if one["name"] == RETURN.name)
    stage.play(*rules_of(RETURN))
    test_id = (await stage.http.post("/api/v1/agentic-tests", json=body)).json()["data"]["id"]
    await make_ends(stage, UUID(test_id), "slssss")
    async with stage.worker():
        path = await stage.start(test_id)
        run = await stage.finished(path)
    assert run["outcome"] == "success"
    return f"/tests/{test_id}/runs/{run['id']}"


async def test_pictures_of_the_main_pages(dashboard: Seen, stage: Stage, tmp_path: Path) -> None:
    page = dashboard.page
    camera = Camera(page, IMAGES if os.environ.get(WANTED) else tmp_path)
    await make_history(stage)
    story = await finished_story(stage)
    await begin_run(stage, "Angry about a late delivery")
    await stage.http.put("/api/v1/account", json={"name": "Boot shop"})
    await dashboard.open("/")
    await page.locator(".figure").first.wait_for()
    await page.locator(".chart canvas").wait_for()
    await camera.take("overview")
    await camera.take("overview-dark", scheme="dark")
    await camera.take("overview-narrow", size=NARROW)
    await dashboard.open("/tests")
    await page.get_by_role("link", name=RETURN.name).wait_for()
    await camera.take("tests")
    await dashboard.open(story)
    await page.locator(".message.judge").first.wait_for()
    await camera.take("run")
    await dashboard.open("/account/usage?by=test")
    await page.locator(".chart canvas").wait_for()
    await camera.take("usage")
