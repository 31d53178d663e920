"""The operators' API of a local stack, found through `dev.json`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.test_local_stack import UP, start, stop

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_operator_makes_an_account_whose_key_works(tmp_path: Path) -> None:
    stack = start(tmp_path / "data")
    try:
        stack.wait_for(UP)
        dev = stack.dev
        assert urlsplit(dev["admin_url"]).hostname == "127.0.0.1"
        assert urlsplit(dev["admin_url"]).port != urlsplit(dev["url"]).port
        accounts = f"{dev['admin_url']}/admin/v1/accounts"
        body = {"name": "Second", "plan": "pro", "credit": 5}
        assert httpx.post(accounts, json=body).status_code == 401
        token = {"Authorization": f"Bearer {dev['admin_token']}"}
        made = httpx.post(accounts, json=body, headers=token)
        assert made.status_code == 201, made.text
        key = {"Authorization": f"Bearer {made.json()['data']['private_key']}"}
        balance = httpx.get(f"{dev['url']}/api/v1/information/balance", headers=key)
        assert balance.json()["data"]["balance"] == 5
        assert httpx.post(accounts, json=body, headers={**token, "Host": "evil.example"}).status_code == 400
    finally:
        stop(stack)
