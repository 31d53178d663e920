"""One scripted suite with everything in it, and one scripted agent that plays it by several ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from parley.engine.script.record import AttemptRecord
from parley.sdk.evals import Evals, Pause, Responder, ServiceJudge, chat_agent, record
from parley.server.llm.demo import CallTool, Rule, Say
from tests.receivers import Receiver, says
from tests.stage import Stage

ORDER = {"id": 17, "total": 120}
ASKED = {"question": "Refund 120 euros?", "options": ["approve", "refuse"]}
RECEIPT = {"order": 17, "amount": 120}
VERIFIED = {"passed": True, "reason": "The refund is booked.", "evidence": {"refunds": 1}}

SUITE: dict[str, Any] = {
    "id": "refunds",
    "cases": [
        {
            "id": "over-the-limit",
            "params": {"customer": "c-1"},
            "steps": [
                {
                    "message": "Refund order 17, please.",
                    "expect": {
                        "type": "interrupt",
                        "schemaId": "refund.approval",
                        "tools": [{"name": "find_order", "arguments": {"id": 17}}],
                        "criteria": [{"id": "asks", "text": "Asks for a decision about the sum."}],
                    },
                },
                {
                    "resume": {"using": "approve"},
                    "expect": {
                        "type": "answer",
                        "outputs": [{"schemaId": "refund.receipt"}],
                        "tools": [{"name": "issue_receipt", "count": 1}, {"name": "delete", "called": False}],
                        "text": {"contains": ["17"]},
                        "criteria": [{"id": "when", "text": "Says when the money arrives."}],
                        "reference": "Within five days.",
                    },
                },
            ],
        },
        {
            "id": "rude",
            "steps": [
                {
                    "message": "You are useless.",
                    "expect": {
                        "type": "answer",
                        "criteria": [
                            {"id": "calm", "text": "Stays calm."},
                            {"id": "help", "text": "Offers help."},
                        ],
                    },
                },
                {"message": "Never reached.", "expect": {"type": "answer"}},
            ],
        },
        {
            "id": "short",
            "steps": [{"message": "Hello?", "expect": {"type": "answer", "text": {"contains": ["Hello"]}}}],
        },
    ],
}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "auto",
        "name": "find_order",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "stubs": [{"match": {"id": 17}, "result": ORDER}],
    },
    {
        "type": "interrupt",
        "name": "ask_approval",
        "kind": "choice",
        "question": "/question",
        "options": "/options",
        "schemaId": "refund.approval",
    },
    {"type": "output", "name": "issue_receipt", "schemaId": "refund.receipt"},
]


def agent_plays() -> tuple[Rule, ...]:
    """An agent that finds, asks, books and answers; and a judge that knows what it wants to see."""
    return (
        Rule((Say("Pull yourself together."),), part="assistant", contains="useless"),
        Rule((Say("Good day."),), part="assistant", contains="Hello?"),
        # What was said before decides, so that attempts may be played at once.
        agent(Say("Order 17 is refunded; the money arrives within five days."), "accepted"),
        agent(CallTool("issue_receipt", json.dumps(RECEIPT), id="call_3"), '["approve"]'),
        agent(CallTool("ask_approval", json.dumps(ASKED), id="call_2"), '"total"'),
        agent(CallTool("find_order", '{"id": 17}', id="call_1", text="Let me see."), "Refund"),
        judged("Offers help.", passed=False, quote="Pull yourself together."),
        judged("Stays calm.", passed=True, quote="I am calm."),
        judged("Asks for a decision", passed=True, quote="Refund 120 euros?"),
        judged("Says when", passed=True, quote="within five days"),
    )


def agent(answer: Say | CallTool, said: str) -> Rule:
    """The agent's answer once this was said."""
    return Rule((answer,), part="assistant", contains=said)


def judged(criterion: str, *, passed: bool, quote: str) -> Rule:
    """A judge's verdict on one criterion."""
    verdict = {"reason": "It was looked at.", "passed": passed, "evidence": [quote]}
    return Rule((Say(json.dumps(verdict)),), part="judge", contains=criterion)


def target_of(stage: Stage, receiver: Receiver) -> dict[str, Any]:
    """The scripted agent behind the stage's gateway."""
    body = json.dumps(VERIFIED).encode()
    return {
        "type": "gateway",
        "gateway": stage.gateway["slug"],
        "tools": TOOLS,
        "responders": [{"name": "approve", "schemaId": "refund.approval", "label": "Approve"}],
        "toolVisibility": "full",
        "verify": {"url": receiver.on("/verify", says(200, body, content_type="application/json"))},
    }


def evals_of(stage: Stage) -> Evals:
    """The same agent in this process, judged by the service."""
    return Evals(
        agent=chat_agent(
            completions_of(stage), model="assistant", tools=[find_order, ask_approval, issue_receipt]
        ),
        suites=[SUITE],
        responders={
            "approve": Responder(
                answer=lambda: {"type": "select", "ids": ["approve"]}, schema_id="refund.approval"
            )
        },
        verify=lambda: dict(VERIFIED),
        judge=ServiceJudge(stage.url, stage.tenant.private.token),
    )


def completions_of(stage: Stage) -> Callable[..., Any]:
    """An OpenAI-style `create` for the scripted agent."""

    async def create(**fields: Any) -> dict[str, Any]:
        async with httpx.AsyncClient(verify=False) as client:
            answer = await client.post(f"{stage.llms.base_url}/chat/completions", json=fields)
        answer.raise_for_status()
        completion: dict[str, Any] = answer.json()
        return completion

    return create


def find_order(id: int) -> dict[str, int]:
    """Find an order."""
    return {**ORDER, "id": id}


def ask_approval(question: str, options: list[str]) -> None:
    """Ask somebody who may decide."""
    raise Pause(
        question=question,
        kind="choice",
        options=options,
        schema_id="refund.approval",
        request={"question": question, "options": options},
        request_id="call_2",
    )


def issue_receipt(order: int, amount: int) -> str:
    """Book a refund."""
    record.output({"order": order, "amount": amount}, schema_id="refund.receipt")
    return "accepted"


def essence(attempt: AttemptRecord) -> dict[str, Any]:
    """What must be the same whoever plays: verdicts, checks, evidence, and what was said."""
    told = attempt.wire()
    steps = [
        {
            **{
                name: step[name]
                for name in ("index", "input", "resumed", "status", "checks", "reference", "evidence")
                if name in step
            },
            "criteria": [
                {name: one[name] for name in ("id", "text", "status", "reason", "quotes", "calls")}
                for one in step["criteria"]
            ],
        }
        for step in told["steps"]
    ]
    kept = ("suiteId", "suiteRevision", "caseId", "repetition", "status", "stepsPlanned", "judge",
            "verification", "errors", "rubricVersion", "compactionVersion")  # fmt: skip
    return {**{name: told.get(name) for name in kept}, "steps": steps}
