"""What is kept with a run, the spec made from it, and the revision that tells runs apart."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from parley.engine.messages import Message
from parley.engine.spec import Hook, Spec, ToolMock, UserSampling
from parley.server.definitions.read import read_definition, read_direct
from parley.server.definitions.schemas import stored
from parley.server.definitions.snapshot import (
    PriceFacts,
    ProfileFacts,
    SeatFacts,
    Snapshot,
    Target,
    snapshot,
    spec_of,
)
from parley.server.llm.prices import FREE, Prices

LEAST: dict[str, Any] = {"name": "Refund", "gateway": "shop:1a2b", "goal": "Get a refund"}
FULL: dict[str, Any] = LEAST | {
    "goal": [{"type": "text", "text": "Get a refund"}, {"type": "text", "text": "for order 7"}],
    "validation_criteria": {"type": "text", "text": "Polite"},
    "start": [{"role": "user", "content": "Hi"}],
    "resources": [{"type": "Text", "data": "Terms"}],
    "hooks": [{"event": "after-test", "url": "https://example.com/h"}],
    "tool_mocks": [{"name": "find", "match": {"id": 7}, "result": "found"}],
    "max_turns": 5,
    "minimum_turns": 2,
    "allow_user_exit": False,
    "judge_start_turn": 3,
    "loss_threshold": 0.15,
    "base_threshold": 0.85,
    "user_sampling": {"top_k": 1, "max_decay": 0.5},
}
SEAT = SeatFacts(model="llm-a", prices=PriceFacts.of(Prices.of("0.75", "0.075", "3.75")))
PROFILE = ProfileFacts(name="medium", user=SEAT, judge=SEAT)
SETTINGS: dict[str, Any] = {
    "base_url": "https://shop.example/v1",
    "model": "shop-1",
    "temperature": 0.5,
    "tools": [],
    "header_names": ["x-team"],
}
PROMPTS = {"user": "1", "judge": "1"}


def gateway(**settings: Any) -> Target:
    return Target.gateway(id="0190", slug="shop:1a2b", name="Shop", settings=SETTINGS | settings, prices=FREE)


def taken(body: dict[str, Any], **other: Any) -> Snapshot:
    options: dict[str, Any] = {"target": gateway(), "profile": PROFILE, "prompt_versions": PROMPTS}
    return snapshot(stored(read_definition(body)), **options | other)


def through_json(kept: Snapshot) -> Snapshot:
    text = json.dumps(kept.model_dump(mode="json"), allow_nan=False)
    return Snapshot.model_validate(json.loads(text))


def test_snapshot_survives_json_and_gives_the_whole_spec() -> None:
    kept = through_json(taken(FULL))
    assert kept == taken(FULL)
    assert spec_of(kept, seed=9) == Spec(
        goal="Get a refund\nfor order 7",
        seed=9,
        validation_criteria="Polite",
        start=(Message(role="user", content="Hi"),),
        resources=("Terms",),
        hooks=(Hook(event="after-test", url="https://example.com/h"),),
        tool_mocks=(ToolMock(name="find", match={"id": 7}, result="found"),),
        max_turns=5,
        minimum_turns=2,
        allow_user_exit=False,
        judge_start_turn=3,
        loss_threshold=Decimal("0.15"),
        base_threshold=Decimal("0.85"),
        user_sampling=UserSampling(top_k=1.0, max_decay=0.5),
    )


def test_direct_evaluation_gets_its_spec_the_same_way() -> None:
    fields = stored(read_direct({"model": "shop:1a2b", "goal": "Get a refund", "max_turns": 3}))
    kept = snapshot(fields, target=gateway(), profile=PROFILE, prompt_versions=PROMPTS)
    assert spec_of(kept, seed=5) == Spec(goal="Get a refund", seed=5, max_turns=3)


def test_prices_come_back_as_the_same_decimals() -> None:
    assert through_json(taken(LEAST)).profile.judge.prices.prices() == Prices.of("0.75", "0.075", "3.75")


def test_remote_resources_are_fetched_before_there_is_a_spec() -> None:
    remote = {"type": "RemoteResource", "data": "https://example.com/terms"}
    kept = taken(LEAST | {"resources": [{"type": "Text", "data": "Terms"}, remote]})
    assert kept.resource_texts is None
    with pytest.raises(ValueError, match="not fetched"):
        spec_of(kept, seed=1)
    with pytest.raises(ValueError, match="one text for each"):
        kept.with_resource_texts(["Terms"])
    assert spec_of(kept.with_resource_texts(["Terms", "More"]), seed=1).resources == ("Terms", "More")


def test_gateway_secrets_never_enter_a_snapshot() -> None:
    target = gateway(api_key="sk-canary", headers={"x-team": "canary"}, sealed_api_key="canary")
    assert "canary" not in json.dumps(taken(LEAST, target=target).model_dump(mode="json"))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Other"},
        {"cron": "0 * * * *"},
        {"enabled": False},
        {"failure_notification": False},
        {"notification_threshold": 4},
        {"recovery_notification": False},
        {"outcome_notification": True},
        {"gateway": "0190"},
        {"goal": {"type": "text", "text": "Get a refund"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_revision_stays_when_nothing_evaluated_changes(change: dict[str, Any]) -> None:
    assert taken(LEAST | change).revision == taken(LEAST).revision


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "Another"},
        {"profile": "high"},
        {"metadata": {"a": "b"}},
        {"external_user_id": "u"},
        *[{name: FULL[name]} for name in FULL if name not in ("name", "gateway", "goal")],
        {"seed": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_revision_changes_with_every_evaluated_field(change: dict[str, Any]) -> None:
    assert taken(LEAST | change).revision != taken(LEAST).revision


def test_revision_changes_with_gateway_llms_and_prompts_but_not_with_prices() -> None:
    first = taken(LEAST).revision
    other_judge = PROFILE.model_copy(update={"judge": SEAT.model_copy(update={"model": "llm-b"})})
    dearer = SEAT.model_copy(update={"prices": PriceFacts.of(Prices.of("1", "1", "1"))})
    assert taken(LEAST, target=gateway(temperature=0.6)).revision != first
    assert taken(LEAST, target=Target.integrated("@vendor/name", FREE)).revision != first
    assert taken(LEAST, profile=other_judge).revision != first
    assert taken(LEAST, prompt_versions={"user": "2", "judge": "1"}).revision != first
    assert taken(LEAST, profile=PROFILE.model_copy(update={"judge": dearer})).revision == first
    assert len(first) == 64
