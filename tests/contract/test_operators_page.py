"""docs/reference/operators-api.md is what the operators' app serves: every route, field, bound and answer."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from parley.server.api.operators_app import create_operators_app
from parley.server.config import AdminSettings, Settings
from parley.server.wiring import Services
from tests.contract.operators_page import sections_of

PAGE = (Path(__file__).parents[2] / "docs/reference/operators-api.md").read_text()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The operators' API is on."""
    token = SecretStr("an operator's token for tests, long enough")
    return dataclasses.replace(settings, admin=AdminSettings(port=0, token=token))


def test_page_has_every_route_as_it_is_and_no_other(services: Services) -> None:
    app = create_operators_app(services)
    sections = list(sections_of(app.openapi()))
    assert [section for section in sections if section not in PAGE] == [], (
        "print them anew: python -m tests.contract.operators_page"
    )
    headings = re.findall(r"^### `(.+)`$", PAGE, flags=re.MULTILINE)
    assert headings == [section.partition("`")[2].partition("`")[0] for section in sections]
