"""The pages of the SDK keep step with it."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path

import parley.sdk
from parley.sdk import errors, events
from parley.sdk.client import Client
from parley.sdk.groups import Groups
from parley.sdk.offers import Method, Paged, Streamed
from scripts.cli_page import PAGE, page

SDK = (Path(__file__).parents[3] / "docs/reference/sdk.md").read_text()


def test_the_page_of_the_command_line_is_what_the_command_line_says() -> None:
    assert PAGE.read_text() == page(), "run python -m scripts.cli_page"


def test_every_public_name_and_error_stands_on_the_page() -> None:
    raised = [
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)
    ]
    for name in [*parley.sdk.__all__, *raised]:
        assert f"`{name}" in SDK, name


def test_every_call_stands_on_the_page_and_no_other() -> None:
    with Client("https://parley.test", "sk-par-test") as client:
        named = [name for name, value in vars(Groups).items() if isinstance(value, cached_property)]
        groups = {name: type(getattr(client, name)) for name in named}
    offered = {
        f"client.{name}.{call}"
        for name, kind in groups.items()
        for call, offer in vars(kind).items()
        if isinstance(offer, Method | Paged | Streamed)
    }
    assert set(re.findall(r"`(client\.\w+\.\w+)\(", SDK)) == offered


def test_every_kind_of_event_stands_on_the_page() -> None:
    kinds = {kind.__name__ for kind in events.Told.__args__}
    table = SDK.partition("## Events")[2]
    assert kinds <= set(re.findall(r"`(\w+)", table))
