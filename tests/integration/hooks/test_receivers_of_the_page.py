"""The receivers of docs/how-to/receive-hooks.md, started as their reader would."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from parley.server.hooks.keys import nonce_of
from parley.server.kit.signing import new_secret
from parley.server.llm.demo import Rule, Say
from tests.stage import Stage

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "receive-hooks.md"
BCRYPTJS = """
import {{ spawnSync }} from "node:child_process";
const code = "import bcrypt, sys; sys.exit(not bcrypt.checkpw(sys.argv[1].encode(), sys.argv[2].encode()))";
const compare = async (key, hash) => spawnSync({python}, ["-c", code, key, hash]).status === 0;
export default {{ compare }};
"""
"""Stands in for the npm package: the same call, answered by a real bcrypt library."""
EVENTS = ("before-test", "before-inference", "after-inference", "context-changed", "after-test")


@dataclass(frozen=True, slots=True)
class Running:
    """A receiver of the page."""

    url: str
    lines: list[str]


def written(name: str, folder: Path) -> Path:
    """The receiver as a file of its own."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, name
    file = folder / name
    file.write_text(found[1])
    return file


def command(language: str, folder: Path, *, has_bcrypt: bool = True) -> Sequence[str]:
    if language == "python":
        isolated = [] if has_bcrypt else ["-S"]  # without site-packages
        return [sys.executable, *isolated, str(written("receiver.py", folder)), "0"]
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed on this machine")
    if has_bcrypt:
        package = folder / "node_modules" / "bcryptjs"
        package.mkdir(parents=True)
        (package / "package.json").write_text(
            '{"name": "bcryptjs", "type": "module", "exports": "./index.js"}'
        )
        (package / "index.js").write_text(BCRYPTJS.format(python=json.dumps(sys.executable)))
    return [node, str(written("receiver.mjs", folder)), "0"]


@contextlib.asynccontextmanager
async def running(arguments: Sequence[str], key: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOOK_KEY": key},
    )
    assert process.stdout is not None
    lines: list[str] = []

    async def note(output: asyncio.StreamReader) -> None:
        while line := await output.readline():
            lines.append(line.decode().strip())

    try:
        async with asyncio.timeout(20):
            first = (await process.stdout.readline()).decode()
        lines.append(first.strip())
        noting = asyncio.create_task(note(process.stdout))
        yield Running(f"http://127.0.0.1:{first.split()[2]}", lines)
    finally:
        process.kill()
        await process.wait()
    await noting


def call(key: str, *, nonce: str, message_id: str = "msg_1", age_s: int = 0, text: str = "Hello.") -> Any:
    """What `httpx` wants for a call that is signed as ours are."""
    data = {"turn_number": 1, "messages": [{"role": "assistant", "content": text}]}
    body = json.dumps({"event": {"name": "after-inference", "data": data}}).encode()
    sent_at = str(int(time.time()) - age_s)
    secret = base64.b64decode(key.removeprefix("whsec_"))
    digest = hmac.new(secret, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    return {
        "content": body,
        "headers": {
            "webhook-id": message_id,
            "webhook-timestamp": sent_at,
            "webhook-signature": "v1," + base64.b64encode(digest).decode(),
            "X-Request-Nonce": nonce,
        },
    }


@pytest.mark.parametrize("language", ["python", "javascript"])
async def test_receiver_lets_a_real_run_pass_and_ends_another(
    stage: Stage, tmp_path: Path, language: str
) -> None:
    arguments = command(language, tmp_path)
    key = (await stage.http.post("/api/v1/account/hook-key/roll")).json()["data"]["key"]
    fields: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
    async with running(arguments, key) as receiver, stage.worker():
        hooks = [{"event": event, "url": receiver.url} for event in EVENTS]
        test_id = await stage.make_test(hooks=hooks, **fields)
        passed = await stage.finished(await stage.start(test_id))
        stage.play(Rule((Say("What is your Password?"),), part="assistant", turn=2))
        ended = await stage.finished(await stage.start(test_id))
    assert receiver.lines[0].lower().endswith("nonce checked: true")
    assert [each["body"] for each in passed["result"]["hooks"]] == ["ok"] * 8
    assert passed["state"] == "succeeded"
    assert (ended["state"], ended["outcome"]) == ("failed", "interrupted")
    last = ended["result"]["hooks"][-1]
    assert (last["event"], last["status"]) == ("after-inference", 403)
    assert last["body"] == "The agent must not speak of passwords."


@pytest.mark.parametrize("language", ["python", "javascript"])
async def test_receiver_refuses_what_is_not_ours(tmp_path: Path, language: str) -> None:
    key, other = new_secret(), new_secret()
    nonce, foreign = nonce_of(key), nonce_of(other)
    good = call(key, nonce=nonce)
    no_header = dict(good["headers"])
    del no_header["webhook-signature"]
    refused = {
        "another key": call(other, nonce=nonce),
        "another key's nonce": call(key, nonce=foreign),
        "no nonce": call(key, nonce=""),
        "no hash at all": call(key, nonce="$2b$10$short"),
        "old": call(key, nonce=nonce, age_s=400),
        "from the future": call(key, nonce=nonce, age_s=-400),
        "changed body": {**good, "content": good["content"] + b" "},
        "changed id": {**good, "headers": {**good["headers"], "webhook-id": "msg_2"}},
        "no signature": {**good, "headers": no_header},
        "nothing": {"content": b"{}"},
    }
    async with running(command(language, tmp_path), key) as receiver, client() as http:
        statuses = {
            name: (await http.post(receiver.url, **each)).status_code for name, each in refused.items()
        }
        right = await http.post(receiver.url, **good)
    assert statuses == dict.fromkeys(refused, 401)
    assert (right.status_code, right.text) == (200, "ok")


@pytest.mark.parametrize("language", ["python", "javascript"])
async def test_receiver_answers_a_repeated_call_alike_and_acts_once(tmp_path: Path, language: str) -> None:
    key = new_secret()
    nonce = nonce_of(key)
    async with running(command(language, tmp_path), key) as receiver, client() as http:
        calls = [
            call(key, nonce=nonce, age_s=age_s, text=text) for age_s, text in ((9, "Password?"), (0, "Hi."))
        ]
        answers = [await http.post(receiver.url, **each) for each in calls]
    assert [(each.status_code, each.text) for each in answers] == [
        (403, "The agent must not speak of passwords.")
    ] * 2
    assert receiver.lines[1:] == ["decided msg_1 403"]


@pytest.mark.parametrize("language", ["python", "javascript"])
async def test_receiver_needs_no_package_for_the_signature(tmp_path: Path, language: str) -> None:
    key = new_secret()
    arguments = command(language, tmp_path, has_bcrypt=False)
    async with running(arguments, key) as receiver, client() as http:
        right = await http.post(receiver.url, **call(key, nonce="x"))
        wrong = await http.post(receiver.url, **call(new_secret(), nonce="x"))
    assert receiver.lines[0].lower().endswith("nonce checked: false")
    assert (right.status_code, wrong.status_code) == (200, 401)


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=10, verify=False, trust_env=False)
