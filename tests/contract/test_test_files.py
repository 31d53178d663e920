"""Tests as a file, schedules in words, scores in the list: what people write and read tests with."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from parley.sdk.definitions import file, yaml
from parley.server.definitions.schemas import Definition
from tests.factories.accounts import Tenant
from tests.stage import GOAL, Stage

TESTS = "/api/v1/agentic-tests"
FILE = f"{TESTS}/file"
SCHEDULE = f"{TESTS}/schedule"


async def read(client: httpx.AsyncClient, tenant: Tenant, text: str | bytes) -> httpx.Response:
    """Send a file."""
    headers = {**tenant.auth, "Content-Type": "application/yaml"}
    return await client.post(FILE, content=text, headers=headers)


def problem(answer: httpx.Response) -> str:
    """Field and problem of the one fault."""
    assert answer.status_code == 400, answer.text
    [fault] = answer.json()["details"]
    return f"{fault['field']}: {fault['problem']}"


async def test_written_file_is_read_back_by_api_and_command_line(stage: Stage) -> None:
    fields: dict[str, Any] = {
        "goal": "Two lines:\nthe second: 'quoted' # no comment\n",
        "validation_criteria": [{"type": "text", "text": "yes"}],
        "resources": [{"type": "Text", "data": "2027-01-31"}],
        "tool_mocks": [{"name": "find", "match": {"n": 1.50}, "result": "null"}],
        "loss_threshold": 0.15,
        "user_sampling": {"top_k": 0.6},
        "metadata": {"on": "off"},
        "cron": "0 6 * * mon",
    }
    first = await stage.make_test(name="First: with a colon", **fields)
    second = await stage.make_test(name="Second")
    answer = await stage.http.get(FILE, params={"id": [first, second]})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/yaml")
    assert 'filename="tests.yaml"' in answer.headers["content-disposition"]
    [one, other] = file.definitions_of(yaml.parse(answer.text, "file"), "file")
    assert other == {"name": "Second", "gateway": stage.gateway["slug"], "goal": GOAL}
    assert one == {"name": "First: with a colon", "gateway": stage.gateway["slug"]} | fields

    headers = {"Content-Type": "application/yaml"}
    returned = await stage.http.post(FILE, content=answer.text, headers=headers)
    assert returned.json()["data"]["tests"] == [one, other]
    made = await stage.http.post(TESTS, json=one)
    assert made.status_code == 201
    copy, original = made.json()["data"], await stage.read(f"{TESTS}/{first}")
    for own in ("id", "created_at", "updated_at", "next_run_at"):
        del copy[own], original[own]
    assert copy == original


async def test_defaults_of_a_file_are_filled_in(client: httpx.AsyncClient, tenant: Tenant) -> None:
    text = "defaults: {gateway: a, max_turns: 4}\ntests:\n- {name: x, max_turns: 5}\n- {name: y}\n"
    answer = await read(client, tenant, text)
    assert answer.json()["data"]["tests"] == [
        {"gateway": "a", "max_turns": 5, "name": "x"},
        {"gateway": "a", "max_turns": 4, "name": "y"},
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tests: [", "line 1, column 9"),
        ("tests: &a [*a]", "aliases are not taken"),
        ("a: &x [1]\ntests: *x", "aliases are not taken"),
        ("tests: []\ntests: []", "tests is given twice"),
        ("tests:\n- {1: x}", "a key has to be text"),
        ("!!python/object:os.system {}", "tags are not taken"),
        ("- a", "must be a list of tests"),
        ("tests: {}", "must be a list of tests"),
        ("tests: [x]", "tests.0: must be an object"),
        ("tests: []\nsuites: []", "suites: is unknown here"),
        ("tests: []\ndefaults: 3", "defaults: must be an object"),
        ("tests: [" + "{}," * 101 + "]", "at most 100"),
        ("tests: " + "[" * 5_000, "nested too deeply"),
        ("--- a\n--- b", "document"),
        (b"\xff", "is not UTF-8"),
        ("", "must be a list of tests"),
    ],
)
async def test_unreadable_files_say_where(
    client: httpx.AsyncClient, tenant: Tenant, text: str | bytes, told: str
) -> None:
    assert told in problem(await read(client, tenant, text))


async def test_dates_stay_text(client: httpx.AsyncClient, tenant: Tenant) -> None:
    answer = await read(client, tenant, "tests: [{name: 2027-01-31, seed: 7, enabled: true}]")
    assert answer.json()["data"]["tests"] == [{"name": "2027-01-31", "seed": 7, "enabled": True}]


async def test_files_are_of_the_account_alone(
    client: httpx.AsyncClient, stage: Stage, stranger: Tenant
) -> None:
    test_id = await stage.make_test()
    for ids in ([test_id], ["nonsense"]):
        answer = await client.get(FILE, params={"id": ids}, headers=stranger.auth)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await client.get(FILE, headers=stranger.auth)).status_code == 400
    for path in (f"{FILE}?id={test_id}", f"{SCHEDULE}?cron=*"):
        assert (await client.get(path)).status_code == 401
        assert (await client.get(path, headers=stranger.public.auth)).status_code == 403


async def test_schedule_is_told_as_a_sentence(client: httpx.AsyncClient, tenant: Tenant) -> None:
    answer = await client.get(SCHEDULE, params={"cron": "30 6 * * mon-fri"}, headers=tenant.auth)
    data = answer.json()["data"]
    assert data["sentence"] == "on Monday to Friday at 06:30 UTC"
    assert len(data["upcoming"]) == 3
    assert data["upcoming"] == sorted(data["upcoming"])
    refused = await client.get(SCHEDULE, params={"cron": "*/7 * * * *"}, headers=tenant.auth)
    wanted = await client.post(TESTS, json={"cron": "*/7 * * * *"}, headers=tenant.auth)
    same = [fault["problem"] for fault in wanted.json()["details"] if fault["field"] == "cron"]
    assert problem(refused) == f"cron: {same[0]}"


async def test_test_tells_its_schedule_in_words(stage: Stage) -> None:
    test_id = await stage.make_test(cron="30 6 * * *")
    assert (await stage.read(f"{TESTS}/{test_id}"))["schedule"] == "every day at 06:30 UTC"
    [line] = (await stage.http.get(TESTS)).json()["data"]
    assert line["schedule"] == "every day at 06:30 UTC"


async def test_list_tells_the_newest_scores_if_asked(stage: Stage) -> None:
    scored, bare = await stage.make_test(), await stage.make_test()
    for score in ("0.1", None, "0.2", "0.3"):
        path = await stage.start(scored)
        await stage.http.post(f"{path}/cancel")
        async with stage.services.database.raw() as connection:
            run_id = path.rpartition("/")[2]
            await connection.execute("UPDATE runs SET score = $1::numeric WHERE id = $2", score, run_id)
    plain = (await stage.http.get(TESTS)).json()["data"]
    assert [line["scores"] for line in plain] == [None, None]
    asked = (await stage.http.get(TESTS, params={"scores": 3})).json()["data"]
    assert {line["id"]: line["scores"] for line in asked} == {scored: [0.2, 0.3], bare: []}
    assert (await stage.http.get(TESTS, params={"scores": 51})).status_code == 400


async def test_schema_tells_every_field_with_meaning_and_default(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    schema = (await client.get(f"{TESTS}/schema", headers=tenant.auth)).json()["data"]
    assert set(schema["properties"]) == set(Definition.model_fields)
    assert [name for name, field in schema["properties"].items() if not field.get("description")] == []
    assert schema["properties"]["max_turns"]["default"] == 10
    assert schema["properties"]["loss_threshold"]["default"] == 0.2
    assert (await client.get(f"{TESTS}/schema")).status_code == 401
