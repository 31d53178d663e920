"""`/api/v1/evals`: the service as judge, as the SDK asks it and by hand."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import httpx
import pytest

from parley.engine.script.recheck_run import run_inconsistencies
from parley.engine.script.record import JudgeIdentity
from parley.sdk.evals import Evals, EvalsMisconfigured, ServiceJudge, grade_run
from parley.sdk.retries import RetryPolicy
from parley.server.llm.demo import Rule, Say
from parley.server.llm.demo.behaviours import Status
from tests.factories.accounts import make_key
from tests.stage import Stage

JUDGE, GRADES = "/api/v1/evals/judge", "/api/v1/evals/grades"
GOOD = json.dumps({"reason": "It names the day.", "passed": True, "evidence": ["by Friday", "by Sunday"]})
EXPECTED = {"type": "answer", "criteria": [{"id": "day", "text": "Says when."}]}
SUITE = {"id": "shop", "cases": [{"id": "when", "steps": [{"message": "When?", "expect": EXPECTED}]}]}
OTHER = JudgeIdentity(id="parley/low", version_hash="another", location="service")


def says(*texts: str) -> Rule:
    """A judge that says these."""
    return Rule(tuple(Say(text) for text in texts), part="judge")


async def agent(_turn: Any) -> str:
    """Names the day."""
    return "Your money comes by Friday."


async def body_of(http: httpx.AsyncClient, observed: str = "by Friday", **changes: Any) -> dict[str, Any]:
    """A request that is in order."""
    judge = (await http.get(JUDGE)).json()
    request = {
        "criterion": {"id": "day", "text": "Says when."},
        "input": {"message": "When?"},
        "observation": {"type": "answer", "text": observed},
    }
    pinned = {"id": judge["id"], "versionHash": judge["versionHash"]}
    return {"judge": pinned, "rubricVersion": judge["rubricVersion"], "request": request} | changes


async def ledger(stage: Stage) -> list[dict[str, Any]]:
    """What the account was charged."""
    return await stage.rows("SELECT source, role, amount FROM ledger WHERE source = 'grade' ORDER BY seq")


async def balanced(stage: Stage) -> bool:
    """Whether the balance is the sum of the ledger."""
    rows = await stage.rows(
        "SELECT balance, (SELECT sum(amount) FROM ledger WHERE account_id = accounts.id) AS ledger"
        "  FROM accounts"
    )
    return all(row["balance"] == row["ledger"] for row in rows)


async def test_evals_are_judged_by_the_service_over_a_socket(stage: Stage) -> None:
    key = await make_key(stage.services.database, stage.tenant.account_id, scopes=["judge"])
    stage.play(says("nonsense", GOOD))
    evals = Evals(agent=agent, suites=[SUITE], judge=ServiceJudge(stage.url, key.token))

    run = await evals.run()

    criterion = run.attempts[0].steps[0].criteria[0]
    assert (run.status, criterion.status, criterion.calls) == ("passed", "passed", 2)
    assert [quote.found for quote in criterion.quotes] == [True, False]
    assert run.judge is not None
    assert (run.judge.id, run.judge.location) == ("parley/low", "service")
    assert criterion.usage is not None
    assert float(criterion.usage.cost_usd or 0) > 0
    lines = await ledger(stage)
    assert [line["role"] for line in lines] == ["judge", "judge"], "nonsense is paid for, too"
    assert await balanced(stage)


async def test_nonsense_twice_is_an_error_and_a_pinned_judge_runs_nothing(stage: Stage) -> None:
    stage.play(says("nonsense"))
    evals = Evals(agent=agent, suites=[SUITE], judge=ServiceJudge(stage.url, stage.tenant.private.token))

    run = await evals.run()

    assert (run.status, run.attempts[0].errors[0].code) == ("error", "judge_unreadable")
    with pytest.raises(EvalsMisconfigured, match="pinned"):
        await evals.run(expect_judge=OTHER)


async def test_llm_that_cannot_be_asked_is_an_error_of_grading(stage: Stage) -> None:
    stage.play(Rule((Status(500),), part="judge"))
    evals = Evals(agent=agent, suites=[SUITE], judge=ServiceJudge(stage.url, stage.tenant.private.token))

    run = await evals.run()

    assert (run.status, run.attempts[0].errors[0].code) == ("error", "judge_failed")


class Door:
    """A way to the service that can be shut."""

    def __init__(self, url: str) -> None:
        self._host, self._port = url.removeprefix("http://").split(":")
        self._open: list[asyncio.StreamWriter] = []

    async def open(self) -> str:
        """Open it; its address."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def shut(self) -> None:
        """Let nobody through, and break off who is under way."""
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, int(self._port))
        self._open += [writer, far_writer]
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
        writer.close()


async def test_run_whose_judge_went_out_of_reach_is_graded_later(stage: Stage) -> None:
    door = Door(stage.url)
    key = stage.tenant.private.token
    judge = ServiceJudge(await door.open(), key, retries=RetryPolicy(retries=0))

    async def shutting(_turn: Any) -> str:
        await door.shut()
        return "Your money comes by Friday."

    run = await Evals(agent=shutting, suites=[SUITE], judge=judge).run()
    assert (run.status, run.attempts[0].errors) == ("ungraded", ())
    stage.play(says(GOOD))

    graded = await grade_run(run, ServiceJudge(stage.url, key))

    assert (graded.status, graded.counts.passed, graded.judge) == ("passed", 1, run.judge)
    assert run_inconsistencies(graded) == []
    with pytest.raises(EvalsMisconfigured, match="pinned"):
        await grade_run(run.model_copy(update={"judge": OTHER}), ServiceJudge(stage.url, key))


async def test_repeats_under_one_key_are_asked_and_paid_once(stage: Stage) -> None:
    stage.play(says(GOOD))
    body, once = await body_of(stage.http), {"Idempotency-Key": "one"}

    answers = await asyncio.gather(*(stage.http.post(GRADES, json=body, headers=once) for _ in range(3)))

    assert {answer.status_code for answer in answers} == {200}
    told = answers[0].json()
    assert all(answer.json() == told for answer in answers)
    assert told["verdict"] == {
        "status": "passed",
        "reason": "It names the day.",
        "quotes": [{"text": "by Friday", "found": True}, {"text": "by Sunday", "found": False}],
    }
    assert len(await ledger(stage)) == 1
    other = await stage.http.post(GRADES, json=body | {"problem": "No JSON."}, headers=once)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


async def test_failed_grade_may_be_tried_again_under_its_key(stage: Stage) -> None:
    stage.play(Rule((Status(400),), part="judge", times=1), says(GOOD))
    body, once = await body_of(stage.http), {"Idempotency-Key": "again"}

    first = await stage.http.post(GRADES, json=body, headers=once)
    second = await stage.http.post(GRADES, json=body, headers=once)

    assert (first.status_code, first.json()["code"]) == (502, "judge_failed")
    assert second.status_code == 200, second.text


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"rubricVersion": "rubric-0"}, 409, "judge_mismatch"),
        ({"judge": {"id": "parley/low", "versionHash": "x"}}, 409, "judge_mismatch"),
        ({"judge": {"id": "somebody", "versionHash": "x"}}, 409, "judge_mismatch"),
        ({"request": {"criterion": {"id": "a", "text": "b"}, "more": 1}}, 400, "invalid_request"),
        ({"observed": "x" * 400_001}, 413, "evidence_too_large"),
    ],
)
async def test_what_is_refused_is_not_asked(
    changes: dict[str, Any], status: int, code: str, stage: Stage
) -> None:
    answer = await stage.http.post(GRADES, json=await body_of(stage.http, **changes))

    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert stage.llms.stats.requests == 0
    assert not await ledger(stage)


async def test_only_keys_with_the_scope_may_ask_and_only_so_often(stage: Stage) -> None:
    others = await make_key(stage.services.database, stage.tenant.account_id, scopes=["runs:write"])
    public, body = stage.tenant.public, await body_of(stage.http)
    for key, code in ((others, "scope_missing"), (public, "public_key_refused")):
        for call in (
            stage.http.get(JUDGE, headers=key.auth),
            stage.http.post(GRADES, json=body, headers=key.auth),
        ):
            answer = await call
            assert (answer.status_code, answer.json()["code"]) == (403, code)
    stage.play(says(GOOD))
    object.__setattr__(stage.services.grades._rules, "per_minute", 1)

    first, second = [await stage.http.post(GRADES, json=body) for _ in range(2)]

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (429, "grades_limited")
    assert 0 < int(second.headers["Retry-After"]) <= 60
