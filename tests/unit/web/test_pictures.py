"""The docs' pictures of the dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PICTURES = sorted((ROOT / "docs" / "images").glob("dashboard-*.png"))
LARGEST = 200_000
"""Bytes; nobody should wait for the README."""


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture_is_small_and_shown_somewhere(picture: Path) -> None:
    assert picture.stat().st_size < LARGEST
    pages = (ROOT / "README.md", ROOT / "docs" / "dashboard.md")
    assert any(picture.name in page.read_text() for page in pages)


def test_there_are_pictures() -> None:
    assert len(PICTURES) >= 4
