"""Judges from an OpenAI-compatible endpoint, from the service, and of the app's own."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import respx

from parley.sdk.errors import ParleyError
from parley.sdk.evals import Evals, EvalsMisconfigured, LlmJudge, RunRecord, ServiceJudge, function_agent
from parley.sdk.retries import RetryPolicy
from tests.unit.sdk_evals.stage import Lenient, step, suite

PASSED = json.dumps({"passed": True, "reason": "It says so.", "evidence": ["14 days"]})
AT_ONCE = RetryPolicy(retries=1, base_s=0.001)
JUDGE = "http://judge.test/v1"
SERVICE = "http://service.test"


def evals(judge: Any) -> Evals:
    return Evals(
        agent=function_agent(lambda _text: "It comes in 14 days."),
        suites=[suite(step(criteria=["Says when."]), step("And?", criteria=["Says it again."]))],
        judge=judge,
    )


def reply(content: Any, **usage: int) -> httpx.Response:
    body: dict[str, Any] = {
        "model": "j-1",
        "choices": [{"message": {"role": "assistant", "content": content}}],
    }
    return httpx.Response(200, json={**body, **({"usage": usage} if usage else {})})


def outcome(record: RunRecord) -> tuple[str, list[str]]:
    return record.status, [error.code for attempt in record.attempts for error in attempt.errors]


@respx.mock
async def test_llm_judges_by_the_rubric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_JUDGE_API_KEY", "key-1")
    route = respx.post(f"{JUDGE}/chat/completions").mock(
        side_effect=lambda _request: reply(PASSED, prompt_tokens=9, completion_tokens=3)
    )
    record = await evals(LlmJudge(JUDGE, "j", options={"seed": 1})).run()
    assert outcome(record) == ("passed", [])
    sent = json.loads(route.calls[0].request.content)
    assert (sent["model"], sent["temperature"], sent["seed"]) == ("j", 0, 1)
    assert sent["response_format"] == {"type": "json_object"}
    assert "Says when." in sent["messages"][1]["content"]
    assert route.calls[0].request.headers["Authorization"] == "Bearer key-1"
    assert record.attempts[0].judge_usage is not None
    assert record.attempts[0].judge_usage.prompt_tokens == 18
    assert record.attempts[0].steps[0].criteria[0].quotes[0].found


@respx.mock
async def test_endpoint_without_response_format_is_asked_without_it_from_then_on() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(400) if "response_format" in json.loads(request.content) else reply(PASSED)

    route = respx.post(f"{JUDGE}/chat/completions").mock(side_effect=answer)
    assert (await evals(LlmJudge(JUDGE, "j")).run()).status == "passed"
    assert ["response_format" in json.loads(call.request.content) for call in route.calls] == [
        True,
        False,
        False,
    ]


@respx.mock
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (httpx.Response(401), "judge_http_error"),
        (httpx.Response(500), "judge_http_error"),
        (httpx.Response(200, text="<html>"), "judge_malformed"),
        (httpx.Response(200, json={"choices": []}), "judge_malformed"),
        (reply(None), "judge_unreadable"),
        (reply("I think it passed."), "judge_unreadable"),
        (httpx.ConnectError("no"), "judge_unreachable"),
    ],
)
async def test_llm_judge_that_goes_wrong_is_an_error_and_never_a_failure(answer: Any, code: str) -> None:
    respx.post(f"{JUDGE}/chat/completions").mock(side_effect=lambda _request: _given(answer))
    assert outcome(await evals(LlmJudge(JUDGE, "j", retries=AT_ONCE)).run()) == ("error", [code])


def _given(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


@respx.mock
async def test_passing_fault_is_asked_again() -> None:
    answers = iter([httpx.Response(503), reply(PASSED), reply(PASSED)])
    respx.post(f"{JUDGE}/chat/completions").mock(side_effect=lambda _request: next(answers))
    assert (await evals(LlmJudge(JUDGE, "j", retries=AT_ONCE)).run()).status == "passed"


def test_version_of_a_judge_is_its_settings() -> None:
    one = LlmJudge(JUDGE, "j").identity
    assert one == LlmJudge(f"{JUDGE}/chat/completions/", "j", api_key="other").identity
    assert one != LlmJudge(JUDGE, "j", options={"temperature": 1}).identity
    assert one.location == "app"
    with pytest.raises(EvalsMisconfigured, match="http://"):
        LlmJudge("judge.test/v1", "j")


@respx.mock
def test_one_judge_serves_several_event_loops() -> None:
    respx.post(f"{JUDGE}/chat/completions").mock(side_effect=lambda _request: reply(PASSED))
    ready = evals(LlmJudge(JUDGE, "j"))
    assert [ready.run_sync().status, ready.run_sync().status] == ["passed", "passed"]


IDENTITY = {
    "id": "parley-medium", "versionHash": "abc", "location": "service", "rubricVersion": "rubric-1",
    "maxEvidenceChars": 1000,
}  # fmt: skip


def service_judge() -> ServiceJudge:
    return ServiceJudge(SERVICE, "sk_test", retries=AT_ONCE)


@respx.mock
async def test_service_grades_each_step_before_the_next_one() -> None:
    respx.get(f"{SERVICE}/api/v1/evals/judge").respond(json=IDENTITY)
    grades = respx.post(f"{SERVICE}/api/v1/evals/grades").respond(
        json={"answer": {"passed": False, "reason": "No.", "evidence": []}, "usage": {"costUsd": "0.01"}}
    )
    record = await evals(service_judge()).run()
    assert (record.status, len(grades.calls)) == ("failed", 1), (
        "stop means the same as with a judge of the app"
    )
    sent = json.loads(grades.calls[0].request.content)
    assert sent["judge"] == {"id": "parley-medium", "versionHash": "abc"}
    assert sent["request"]["criterion"]["text"] == "Says when."
    assert "Idempotency-Key" in grades.calls[0].request.headers
    assert record.judge is not None
    assert record.judge.location == "service"
    assert record.attempts[0].judge_usage is not None
    assert record.attempts[0].judge_usage.cost_usd == "0.01"


@respx.mock
@pytest.mark.parametrize(
    ("answer", "status", "codes"),
    [
        (httpx.ConnectError("no"), "ungraded", []),
        (httpx.Response(503), "ungraded", []),
        (
            httpx.Response(409, json={"error": "Another judge.", "code": "judge_mismatch"}),
            "error",
            ["judge_mismatch"],
        ),
        (httpx.Response(200, json={"verdict": True}), "error", ["service_answer"]),
    ],
)
async def test_service_out_of_reach_leaves_ungraded_and_a_refusal_is_an_error(
    answer: Any, status: str, codes: list[str]
) -> None:
    respx.get(f"{SERVICE}/api/v1/evals/judge").respond(json=IDENTITY)
    respx.post(f"{SERVICE}/api/v1/evals/grades").mock(side_effect=lambda _request: _given(answer))
    assert outcome(await evals(service_judge()).run()) == (status, codes)


@respx.mock
@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(401),
        httpx.ConnectError("no"),
        httpx.Response(200, json={**IDENTITY, "rubricVersion": "rubric-9"}),
    ],
)
async def test_service_that_cannot_judge_is_told_before_anything_runs(answer: Any) -> None:
    respx.get(f"{SERVICE}/api/v1/evals/judge").mock(side_effect=lambda _request: _given(answer))
    called: list[str] = []
    ready = Evals(
        agent=function_agent(called.append), suites=[suite(step(criteria=["x"]))], judge=service_judge()
    )
    with pytest.raises(ParleyError):
        await ready.run()
    assert called == []


@respx.mock
async def test_evidence_larger_than_the_service_reads_is_never_sent() -> None:
    respx.get(f"{SERVICE}/api/v1/evals/judge").respond(json={**IDENTITY, "maxEvidenceChars": 10})
    grades = respx.post(f"{SERVICE}/api/v1/evals/grades")
    assert outcome(await evals(service_judge()).run()) == ("error", ["evidence_too_large"])
    assert not grades.called


async def test_judge_of_the_app_s_own_may_be_sync_or_async_and_is_known_by_its_version() -> None:
    class Async(Lenient):
        async def grade(self, request: Any) -> Any:  # type: ignore[override]
            return super().grade(request)

    for judge in (Lenient(), Async()):
        record = await evals(judge).run()
        assert (record.status, judge.asked) == ("passed", ["Says when.", "Says it again."])
        assert record.judge is not None
        assert record.judge.id == "lenient"
    newer = Lenient()
    newer.version = "2"
    assert evals(newer).describe()["judge"] != evals(Lenient()).describe()["judge"]


async def test_judge_may_be_chosen_for_one_run() -> None:
    ready, other = evals(Lenient()), Lenient()
    await ready.run(judge=other)
    assert other.asked


@respx.mock
async def test_nothing_stands_in_for_the_judge_that_was_asked_for() -> None:
    respx.get(f"{SERVICE}/api/v1/evals/judge").respond(json=IDENTITY)
    respx.post(f"{SERVICE}/api/v1/evals/grades").respond(json={"answer": json.loads(PASSED)})
    by_service = evals(service_judge())
    record = await by_service.run(judge="service")
    assert record.judge is not None
    assert (record.status, record.judge.location) == ("passed", "service")
    with pytest.raises(EvalsMisconfigured, match="no judge of its own"):
        await by_service.run(judge="app")
    own = await evals(Lenient()).run(judge="app")
    assert own.judge is not None
    assert own.judge.location == "app"


async def test_without_criteria_no_judge_is_asked_for_anything() -> None:
    deterministic = Evals(agent=function_agent(str), suites=[suite(step())])
    record = await deterministic.run(judge="service")
    assert (record.status, record.judge) == ("passed", None)
