"""`/api/v1/agentic-tests`: who may do what, every bound over HTTP, lists, changes, deletion."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from parley.server.accounts.scopes import KeyScope
from parley.server.agentic_tests.endpoints import router
from parley.server.agentic_tests.examples import CHANGE, CREATE
from parley.server.agentic_tests.service import using_gateway
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import AgenticTest
from parley.server.definitions.offer import Offer
from parley.server.gateways.use import GatewayUse
from parley.server.kit.ids import new_id
from parley.server.runs.cancel import Canceller
from tests.factories.accounts import Tenant, make_key
from tests.factories.agentic_tests import INTEGRATED, make_agentic_test, make_gateway, offer
from tests.factories.ended_runs import end_run

PATH = "/api/v1/agentic-tests"


@dataclass
class RememberingCanceller:
    """Cancels nothing, and remembers whose runs it was to cancel."""

    tests: list[UUID] = field(default_factory=list)

    async def cancel_open(self, _session: Session, _scope: AccountScope, test_id: UUID) -> None:
        self.tests.append(test_id)


@pytest.fixture(autouse=True)
def canceller(app: FastAPI) -> RememberingCanceller:
    remembering = RememberingCanceller()
    app.state.provided |= {
        Offer: offer(),
        Canceller: remembering,
        GatewayUse: GatewayUse(using_gateway),
    }
    return remembering


@pytest.fixture
async def slug(database: Database, tenant: Tenant) -> str:
    return (await make_gateway(database, tenant.scope)).slug


@pytest.fixture
def least(slug: str) -> dict[str, Any]:
    return {"name": "Refund", "gateway": slug, "goal": "Get a refund"}


@pytest.fixture
async def test_id(database: Database, tenant: Tenant, slug: str) -> UUID:
    return await make_agentic_test(database, tenant.scope, slug)


async def count(database: Database) -> int:
    async with database.session() as session:
        return await session.scalar(select(func.count()).select_from(AgenticTest)) or 0


def blamed(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "invalid_request"
    return [line["field"] for line in answer.json()["details"]]


# Who may do what


CALLS = [("GET", ""), ("POST", ""), ("GET", "/{id}"), ("PATCH", "/{id}"), ("DELETE", "/{id}")]
BODIES = {"POST": {"name": "x", "gateway": "x", "goal": "x"}, "PATCH": {"name": "x"}}


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_nobody_gets_401_and_a_public_key_403(
    client: httpx.AsyncClient, tenant: Tenant, test_id: UUID, method: str, path: str
) -> None:
    address = PATH + path.format(id=test_id)
    assert (await client.request(method, address, json=BODIES.get(method))).status_code == 401
    public = await client.request(method, address, json=BODIES.get(method), headers=tenant.public.auth)
    assert (public.status_code, public.json()["code"]) == (403, "public_key_refused")


async def test_key_is_asked_for_before_the_body_is_read(client: httpx.AsyncClient, test_id: UUID) -> None:
    assert (await client.post(PATH, content=b"{")).status_code == 401
    assert (await client.patch(f"{PATH}/{test_id}", content=b"{")).status_code == 401


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_key_without_the_scope_gets_403(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, test_id: UUID, method: str, path: str
) -> None:
    other: list[KeyScope] = ["tests:write", "runs:write"] if method == "GET" else ["tests:read", "runs:write"]
    key = await make_key(database, tenant.account_id, scopes=other)
    answer = await client.request(
        method, PATH + path.format(id=test_id), json=BODIES.get(method), headers=key.auth
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_stranger_gets_the_404_of_an_unknown_id_and_changes_nothing(
    client: httpx.AsyncClient,
    tenant: Tenant,
    stranger: Tenant,
    test_id: UUID,
    canceller: RememberingCanceller,
    method: str,
) -> None:
    """C181."""
    body = BODIES.get(method)
    foreign = await client.request(method, f"{PATH}/{test_id}", json=body, headers=stranger.auth)
    unknown = await client.request(method, f"{PATH}/{new_id()}", json=body, headers=stranger.auth)
    no_id = await client.request(method, f"{PATH}/nonsense", json=body, headers=stranger.auth)
    assert foreign.status_code == unknown.status_code == no_id.status_code == 404
    assert foreign.json() == unknown.json() == no_id.json()
    kept = await client.get(f"{PATH}/{test_id}", headers=tenant.auth)
    assert kept.json()["data"]["name"] == "Refund"
    assert canceller.tests == []


async def test_stranger_sees_no_test_of_another_account(
    client: httpx.AsyncClient, stranger: Tenant, test_id: UUID
) -> None:
    answer = await client.get(PATH, headers=stranger.auth)
    assert str(test_id) not in answer.text
    assert answer.json()["data"] == []


# Making


async def test_made_test_comes_back_with_defaults_and_extras(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    answer = await client.post(PATH, json=least, headers=tenant.auth)
    assert answer.status_code == 201
    made = answer.json()["data"]
    expected = least | {"max_turns": 10, "loss_threshold": 0.2, "seed": None}
    assert {name: made[name] for name in expected} == expected
    assert made["user_sampling"] == {"top_k": 0.4, "max_decay": 0.02}
    assert (made["upcoming"], made["next_run_at"], made["last_skip"]) == ([], None, None)
    assert (made["consecutive_failures"], made["last_notification_at"], made["latest_run"]) == (0, None, None)
    assert len(made["revision"]) == 64
    assert made["created_at"] == made["updated_at"]
    assert made["created_at"].endswith("Z")
    read = await client.get(f"{PATH}/{made['id']}", headers=tenant.auth)
    assert read.json()["data"] == made


@pytest.mark.parametrize("summary", CREATE)
async def test_documented_example_is_accepted_and_kept_as_sent(
    client: httpx.AsyncClient, tenant: Tenant, slug: str, summary: str
) -> None:
    example = CREATE[summary]
    body = example | {"gateway": INTEGRATED if example["gateway"] == INTEGRATED else slug}
    answer = await client.post(PATH, json=body, headers=tenant.auth)
    assert answer.status_code == 201, answer.text
    made = answer.json()["data"]
    sampling = made.pop("user_sampling")
    assert sampling.items() >= body.pop("user_sampling", {}).items()
    assert {name: made[name] for name in body} == body


@pytest.mark.parametrize("summary", CHANGE)
async def test_documented_change_is_accepted(
    client: httpx.AsyncClient, tenant: Tenant, test_id: UUID, summary: str
) -> None:
    answer = await client.patch(f"{PATH}/{test_id}", json=CHANGE[summary], headers=tenant.auth)
    assert answer.status_code == 200, answer.text


async def test_gateway_is_named_by_slug_by_id_or_as_an_integrated_llm(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, least: dict[str, Any]
) -> None:
    gateway = await make_gateway(database, tenant.scope, "Other")
    for reference, shown in [
        (gateway.slug, gateway.slug),
        (str(gateway.id), gateway.slug),
        (INTEGRATED, INTEGRATED),
    ]:
        answer = await client.post(PATH, json=least | {"gateway": reference}, headers=tenant.auth)
        assert answer.status_code == 201, answer.text
        assert answer.json()["data"]["gateway"] == shown


async def test_unknown_and_foreign_gateways_are_refused_in_the_same_words(
    client: httpx.AsyncClient,
    database: Database,
    tenant: Tenant,
    stranger: Tenant,
    test_id: UUID,
    least: dict[str, Any],
) -> None:
    foreign = await make_gateway(database, stranger.scope)
    before = await count(database)
    answers = []
    for reference in (foreign.slug, str(foreign.id), "nobody:0000", str(new_id()), "@acme/unknown"):
        made = await client.post(PATH, json=least | {"gateway": reference}, headers=tenant.auth)
        changed = await client.patch(f"{PATH}/{test_id}", json={"gateway": reference}, headers=tenant.auth)
        assert blamed(made) == blamed(changed) == ["gateway"]
        answers += [made.json(), changed.json()]
    assert all(answer == answers[0] for answer in answers)
    assert await count(database) == before


async def test_wrong_gateway_is_told_together_with_every_other_fault(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {"gateway": "nobody:0000", "goal": " ", "max_turns": 3, "minimum_turns": 3, "gaol": "x"}
    answer = await client.post(PATH, json=body, headers=tenant.auth)
    assert sorted(blamed(answer)) == ["gaol", "gateway", "goal", "minimum_turns"]
    assert await count(database) == 0


# Bounds over HTTP; the table of every bound stands in tests/unit/definitions/test_bounds.py


HELLO = {"role": "user", "content": "Hi"}
MOCK = {"name": "f", "result": ""}
BOUNDS: list[tuple[str, list[Any], list[Any]]] = [
    ("name", ["n", "n" * 200], ["", "n" * 201, 5]),
    ("goal", ["x" * 32_000, [{"type": "text", "text": "x"}]], ["", " \n", "x" * 32_001, [], 7]),
    ("validation_criteria", [None, "x" * 32_000], ["", "x" * 32_001]),
    ("start", [[], [HELLO] * 100], [[HELLO] * 101]),
    ("resources", [[{"type": "Text", "data": "x"}] * 16], [[{"type": "Text", "data": "x"}] * 17]),
    (
        "tool_mocks",
        [[{"name": "f", "result": ""}] * 32],
        [[{"name": "f", "result": ""}] * 33, [{"name": "f"}]],
    ),
    ("profile", ["low", "high"], ["huge", None]),
    ("max_turns", [2, 64], [1, 65, "5", True, 5.5]),
    ("minimum_turns", [1, 9], [0, 10, 64]),
    ("judge_start_turn", [1, 9], [0, 10, 64]),
    ("allow_user_exit", [True, False], [1, "true", None]),
    ("loss_threshold", [0.01, 0.79], [0.009, 0.991]),
    ("base_threshold", [0.31, 0.99], [0.3, 0.991]),
    ("user_sampling", [{"top_k": 0}, {"top_k": 2, "max_decay": 1}], [None, []]),
    ("seed", [None, 0, 2**53 - 1], [-1, 2**53, "1"]),
    ("metadata", [{}, {str(n): "" for n in range(32)}], [{str(n): "" for n in range(33)}, None]),
    ("external_user_id", [None, "u" * 200], ["u" * 201, 7]),
    ("cron", [None, "0 6 * * mon"], ["", "@daily", "* * * * * *"]),
    ("enabled", [False], [None, 0]),
    ("notification_threshold", [1, 2**31 - 1], [0, 2**31]),
    ("outcome_notification", [True], ["yes"]),
]


@pytest.mark.parametrize(("name", "inside", "outside"), BOUNDS, ids=[bound[0] for bound in BOUNDS])
async def test_bound_holds_from_both_sides_when_made_and_when_changed(
    client: httpx.AsyncClient,
    database: Database,
    tenant: Tenant,
    test_id: UUID,
    least: dict[str, Any],
    name: str,
    inside: list[Any],
    outside: list[Any],
) -> None:
    for value in inside:
        made = await client.post(PATH, json=least | {name: value}, headers=tenant.auth)
        changed = await client.patch(f"{PATH}/{test_id}", json={name: value}, headers=tenant.auth)
        assert (made.status_code, changed.status_code) == (201, 200), (value, made.text, changed.text)
    kept = (await client.get(f"{PATH}/{test_id}", headers=tenant.auth)).json()
    rows = await count(database)
    for value in outside:
        made = await client.post(PATH, json=least | {name: value}, headers=tenant.auth)
        changed = await client.patch(f"{PATH}/{test_id}", json={name: value}, headers=tenant.auth)
        assert blamed(made)[0].partition(".")[0] == name
        assert blamed(changed)[0].partition(".")[0] == name
    assert await count(database) == rows
    assert (await client.get(f"{PATH}/{test_id}", headers=tenant.auth)).json() == kept


async def test_hooks_are_bounded_and_inference_hooks_want_a_gateway(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    hook = {"event": "before-inference", "url": "https://example.com/hook"}
    accepted = await client.post(PATH, json=least | {"hooks": [hook] * 20}, headers=tenant.auth)
    assert accepted.status_code == 201
    many = await client.post(PATH, json=least | {"hooks": [hook] * 21}, headers=tenant.auth)
    assert blamed(many) == ["hooks"]
    body = least | {"hooks": [hook], "gateway": INTEGRATED}
    assert blamed(await client.post(PATH, json=body, headers=tenant.auth)) == ["hooks.0.event"]
    change = await client.patch(
        f"{PATH}/{accepted.json()['data']['id']}", json={"gateway": INTEGRATED}, headers=tenant.auth
    )
    assert blamed(change) == [f"hooks.{place}.event" for place in range(20)]


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", ""),
        (b"{", ""),
        (b"[]", ""),
        (b"null", ""),
        (b"\xff\xfe", ""),
        (b'{"seed": NaN}', ""),
        (b'{"goal": "a", "goal": "b"}', "goal"),
        (b'{"name": "a\\u0000b"}', "name"),
        (b'{"name": "\\ud800"}', "name"),
        (b'{"metadata": {"a": "\\udfff"}}', "metadata.a"),
        (b'{"n\\ud800me": 1}', ""),
        (b"[" * 50_000, ""),
    ],
)
async def test_body_that_cannot_be_read_is_400_when_made_and_when_changed(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, test_id: UUID, raw: bytes, field: str
) -> None:
    """C169."""
    headers = tenant.auth | {"Content-Type": "application/json"}
    for method, path in (("POST", PATH), ("PATCH", f"{PATH}/{test_id}")):
        answer = await client.request(method, path, content=raw, headers=headers)
        assert field in blamed(answer)
    assert await count(database) == 1


async def test_body_of_another_kind_is_refused(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    headers = tenant.auth | {"Content-Type": "text/plain"}
    assert blamed(await client.post(PATH, content=json.dumps(least), headers=headers)) == [""]


async def test_body_over_the_cap_is_413_and_stores_nothing(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {"resources": [{"type": "Text", "data": "x" * 1_100_000}]}
    assert (await client.post(PATH, json=body, headers=tenant.auth)).status_code == 413
    assert await count(database) == 0


@pytest.mark.parametrize("name", ["account_id", "id", "created_at", "revision", "next_run_at"])
async def test_what_the_service_decides_cannot_be_sent(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any], name: str
) -> None:
    """C185."""
    assert blamed(await client.post(PATH, json=least | {name: "x"}, headers=tenant.auth)) == [name]


async def test_near_name_of_an_unknown_field_is_told(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    answer = await client.post(PATH, json=least | {"max_turn": 5}, headers=tenant.auth)
    assert "'max_turns'" in answer.json()["details"][0]["problem"]


# Changing


async def test_change_touches_what_is_sent_and_moves_the_revision_with_the_evaluated_fields(
    client: httpx.AsyncClient, tenant: Tenant, test_id: UUID
) -> None:
    before = (await client.get(f"{PATH}/{test_id}", headers=tenant.auth)).json()["data"]
    renamed = (await client.patch(f"{PATH}/{test_id}", json={"name": "Other"}, headers=tenant.auth)).json()
    assert renamed["data"] == before | {"name": "Other", "updated_at": renamed["data"]["updated_at"]}
    assert renamed["data"]["updated_at"] > before["updated_at"]
    moved = (await client.patch(f"{PATH}/{test_id}", json={"goal": "Other"}, headers=tenant.auth)).json()
    assert moved["data"]["revision"] != before["revision"]


async def test_change_merges_sampling_replaces_objects_and_clears_by_null(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {
        "metadata": {"a": "b"},
        "seed": 7,
        "cron": "0 6 * * *",
        "external_user_id": "u",
        "validation_criteria": "Polite",
        "user_sampling": {"top_k": 1, "max_decay": 0.5},
    }
    made = (await client.post(PATH, json=body, headers=tenant.auth)).json()["data"]
    change = {
        "metadata": {"c": "d"},
        "seed": None,
        "cron": None,
        "external_user_id": None,
        "validation_criteria": None,
        "user_sampling": {"top_k": 2},
    }
    changed = (await client.patch(f"{PATH}/{made['id']}", json=change, headers=tenant.auth)).json()["data"]
    assert changed["user_sampling"] == {"top_k": 2.0, "max_decay": 0.5}
    assert {name: changed[name] for name in change} == change | {"user_sampling": changed["user_sampling"]}
    assert (await client.get(f"{PATH}/{made['id']}", headers=tenant.auth)).json()["data"] == changed


async def test_empty_change_changes_nothing(client: httpx.AsyncClient, tenant: Tenant, test_id: UUID) -> None:
    before = await client.get(f"{PATH}/{test_id}", headers=tenant.auth)
    assert (await client.patch(f"{PATH}/{test_id}", json={}, headers=tenant.auth)).json() == before.json()


async def test_change_is_checked_as_a_whole(client: httpx.AsyncClient, tenant: Tenant, test_id: UUID) -> None:
    await client.patch(f"{PATH}/{test_id}", json={"minimum_turns": 8}, headers=tenant.auth)
    answer = await client.patch(f"{PATH}/{test_id}", json={"max_turns": 8}, headers=tenant.auth)
    assert blamed(answer) == ["minimum_turns"]


async def test_test_of_a_withdrawn_llm_can_be_read_renamed_and_moved_elsewhere(
    client: httpx.AsyncClient, app: FastAPI, tenant: Tenant, least: dict[str, Any], slug: str
) -> None:
    made = await client.post(PATH, json=least | {"gateway": INTEGRATED}, headers=tenant.auth)
    path = f"{PATH}/{made.json()['data']['id']}"
    app.state.provided[Offer] = offer(integrated=())
    assert (await client.get(path, headers=tenant.auth)).json()["data"]["gateway"] == INTEGRATED
    assert (await client.patch(path, json={"name": "Other"}, headers=tenant.auth)).status_code == 200
    moved = await client.patch(path, json={"gateway": slug}, headers=tenant.auth)
    assert moved.json()["data"]["gateway"] == slug


# Dry runs


async def test_dry_run_tells_what_would_be_stored_and_stores_nothing(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    would = await client.post(PATH, json=least, params={"dry_run": "true"}, headers=tenant.auth)
    assert (would.status_code, would.json()["data"]["max_turns"]) == (200, 10)
    assert (await client.get(PATH, headers=tenant.auth)).json()["data"] == []
    made = (await client.post(PATH, json=least, headers=tenant.auth)).json()["data"]
    path = f"{PATH}/{made['id']}"
    change = {"max_turns": 7, "user_sampling": {"top_k": 1}}
    would = await client.patch(path, json=change, params={"dry_run": "true"}, headers=tenant.auth)
    told = would.json()["data"]
    assert (told["max_turns"], told["user_sampling"]) == (7, {"top_k": 1.0, "max_decay": 0.02})
    assert (await client.get(path, headers=tenant.auth)).json()["data"] == made


@pytest.mark.parametrize("query", ["dryRun=true", "dry-run=1", "dry_run=true&dry_run=false", "dry_run="])
async def test_a_mistyped_dry_run_stores_nothing(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any], query: str
) -> None:
    refused = await client.post(f"{PATH}?{query}", json=least, headers=tenant.auth)
    assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, query.partition("=")[0])
    assert (await client.get(PATH, headers=tenant.auth)).json()["data"] == []


async def test_dry_run_is_refused_like_the_real_one(
    client: httpx.AsyncClient, tenant: Tenant, least: dict[str, Any]
) -> None:
    body = least | {"max_turns": 1, "gaol": "x"}
    real = await client.post(PATH, json=body, headers=tenant.auth)
    dry = await client.post(PATH, json=body, params={"dry_run": "true"}, headers=tenant.auth)
    assert dry.status_code == real.status_code == 400
    assert dry.json() == real.json()


# Listing


async def test_list_is_newest_first_pages_by_cursor_and_carries_the_latest_run(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, slug: str
) -> None:
    made = [await make_agentic_test(database, tenant.scope, slug, name=f"Test {n}") for n in range(5)]
    await end_run(database, tenant.scope.account_id, made[4], "f")
    newest = await end_run(database, tenant.scope.account_id, made[4], "s")
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        answer = (await client.get(PATH, params=query, headers=tenant.auth)).json()
        seen += [row["id"] for row in answer["data"]]
        if not answer["page"]["has_more"]:
            break
        query = {"limit": 2, "cursor": answer["page"]["next_cursor"]}
    assert seen == [str(test_id) for test_id in reversed(made)]
    first = (await client.get(PATH, params={"limit": 1}, headers=tenant.auth)).json()["data"][0]
    assert first["latest_run"]["id"] == str(newest)
    assert first["gateway"] == slug
    detail = (await client.get(f"{PATH}/{made[4]}", headers=tenant.auth)).json()["data"]
    assert detail["latest_run"] == first["latest_run"]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("refund", {"Refund 100%", "A_refund", "REFUND"}),
        ("100%", {"Refund 100%"}),
        ("%", {"Refund 100%"}),
        ("_", {"A_refund"}),
        ("\\", {"back\\slash"}),
        ("nothing", set()),
        ("", {"Refund 100%", "A_refund", "REFUND", "back\\slash"}),
    ],
)
async def test_search_takes_its_text_literally_in_any_case(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, slug: str, search: str, found: set[str]
) -> None:
    for name in ("Refund 100%", "A_refund", "REFUND", "back\\slash"):
        await make_agentic_test(database, tenant.scope, slug, name=name)
    answer = await client.get(PATH, params={"search": search}, headers=tenant.auth)
    assert {row["name"] for row in answer.json()["data"]} == found


async def test_filter_takes_a_slug_an_id_or_an_integrated_llm(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, stranger: Tenant, slug: str
) -> None:
    other = await make_gateway(database, tenant.scope, "Other")
    foreign = await make_gateway(database, stranger.scope, "Foreign")
    await make_agentic_test(database, tenant.scope, slug, name="first")
    await make_agentic_test(database, tenant.scope, other.slug, name="second")
    await make_agentic_test(database, tenant.scope, INTEGRATED, name="third")
    for gateway, names in [
        (slug, ["first"]),
        (str(other.id), ["second"]),
        (INTEGRATED, ["third"]),
        (foreign.slug, []),
        (str(new_id()), []),
        ("@acme/unknown", []),
    ]:
        answer = await client.get(PATH, params={"gateway": gateway}, headers=tenant.auth)
        assert [row["name"] for row in answer.json()["data"]] == names


@pytest.mark.parametrize(
    "query", [{"search": "a\x00"}, {"gateway": "\x00"}, {"search": "x" * 201}, {"cursor": "?"}]
)
async def test_query_that_cannot_be_meant_is_400(
    client: httpx.AsyncClient, tenant: Tenant, query: dict[str, str]
) -> None:
    assert blamed(await client.get(PATH, params=query, headers=tenant.auth)) == list(query)


# Deleting


async def test_deleted_test_is_gone_at_once_and_its_open_runs_are_cancelled(
    client: httpx.AsyncClient, tenant: Tenant, test_id: UUID, canceller: RememberingCanceller
) -> None:
    assert (await client.delete(f"{PATH}/{test_id}", headers=tenant.auth)).status_code == 204
    assert canceller.tests == [test_id]
    for method in ("GET", "PATCH", "DELETE"):
        answer = await client.request(
            method, f"{PATH}/{test_id}", json=BODIES.get(method), headers=tenant.auth
        )
        assert answer.status_code == 404
    assert (await client.get(PATH, headers=tenant.auth)).json()["data"] == []
    assert canceller.tests == [test_id]


async def test_gateway_in_use_is_kept_with_the_tests_named_and_let_go_after_their_deletion(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope, "Used")
    made = [await make_agentic_test(database, tenant.scope, gateway.slug, name=name) for name in "ba"]
    path = f"/api/v1/ai-gateways/{gateway.id}"
    refused = await client.delete(path, headers=tenant.auth)
    assert (refused.status_code, refused.json()["code"]) == (409, "gateway_in_use")
    assert [test["name"] for test in refused.json()["details"]["tests"]] == ["a", "b"]
    for test_id in made:
        await client.delete(f"{PATH}/{test_id}", headers=tenant.auth)
    assert (await client.delete(path, headers=tenant.auth)).status_code == 204


async def test_openapi_tells_the_bodies_with_examples_and_without_loose_references() -> None:
    alone = FastAPI()
    alone.include_router(router)
    document = alone.openapi()
    for path, method in ((PATH, "post"), (PATH + "/{test_id}", "patch")):
        content = document["paths"][path][method]["requestBody"]["content"]["application/json"]
        assert content["examples"]
        assert "$ref" not in json.dumps(content["schema"])
        assert "gateway" in content["schema"]["properties"]
