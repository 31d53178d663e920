"""Suites on the stage: conversations of one turn that end as a test's name says."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.server.llm.demo import Rule, Say, Status, opinion
from parley.server.suites.carry import Means
from parley.server.suites.repository import Key
from parley.server.suites.tick import SuiteTick
from parley.server.wiring import Services
from tests.stage import PATIENCE_S, Stage, until

URL = "/api/v1/suites"
EVALUATIONS = "/api/v1/evaluations"


def plays() -> tuple[Rule, ...]:
    """A judge that is content at once, but for goals with "LOSE", and a gateway that fails on "BREAK"."""
    return (
        Rule((Say("BREAK it, please."),), part="user", contains="BREAK"),
        Rule((Status(400),), part="assistant", contains="BREAK"),
        Rule((opinion(0.05, "Nothing was done."),), part="judge", contains="LOSE"),
        Rule((opinion(0.99, "All was done."),), part="judge"),
    )


def tick_of(services: Services, look_every_s: float = 0.0) -> SuiteTick:
    """A tick that ticks when it is told to."""
    means = Means(
        offer=services.offer,
        queue=services.queue,
        canceller=services.canceller,
        attempts=services.scoring_poke,
        look_every_s=look_every_s,
    )
    return SuiteTick(services.database, means, 0.05)


async def make_tests(stage: Stage, *goals: str, **fields: Any) -> list[str]:
    """A short test for each goal."""
    given = {"profile": "low", "max_turns": 2} | fields
    return [await stage.make_test(name=goal, goal=goal, **given) for goal in goals]


async def make_suite(stage: Stage, tests: list[str], **fields: Any) -> str:
    """A suite of these tests; gives its id."""
    body = {"name": "Returns", "cases": [{"test_id": test} for test in tests]} | fields
    answer = await stage.http.post(URL, json=body)
    assert answer.status_code == 201, answer.text
    suite_id: str = answer.json()["data"]["id"]
    return suite_id


async def begin(stage: Stage, suite_id: str, **body: Any) -> str:
    """An evaluation of a suite; gives its id."""
    answer = await stage.http.post(f"{URL}/{suite_id}/evaluations", json=body or None)
    assert answer.status_code == 202, answer.text
    evaluation_id: str = answer.json()["data"]["id"]
    return evaluation_id


async def ended(stage: Stage, evaluation_id: str, timeout_s: float = 4 * PATIENCE_S) -> dict[str, Any]:
    """The evaluation, once it has ended."""

    async def is_over() -> bool:
        [row] = await stage.rows("SELECT ended_at FROM evaluations WHERE id = $1", UUID(evaluation_id))
        return row["ended_at"] is not None

    await until(is_over, timeout_s)
    return await stage.read(f"{EVALUATIONS}/{evaluation_id}")


async def results(stage: Stage, evaluation_id: str) -> list[dict[str, Any]]:
    """All case results of an evaluation."""
    answer = await stage.http.get(f"{EVALUATIONS}/{evaluation_id}/results?limit=100")
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


async def runs(stage: Stage) -> list[dict[str, Any]]:
    """All runs, oldest first."""
    return await stage.rows("SELECT * FROM runs ORDER BY id")


def key_of(stage: Stage, evaluation_id: str) -> Key:
    """An evaluation of the stage's account."""
    return Key(stage.tenant.account_id, UUID(evaluation_id))
