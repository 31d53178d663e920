"""Suites and a judge for trying `Evals`."""

from __future__ import annotations

from typing import Any

ANSWER: dict[str, Any] = {"type": "answer"}


def step(message: str = "Where is order 17?", **expect: Any) -> dict[str, Any]:
    return {"message": message, "expect": {**ANSWER, **expect}}


def pausing(message: str = "Refund order 17.", **expect: Any) -> dict[str, Any]:
    return {"message": message, "expect": {"type": "interrupt", **expect}}


def resuming(resume: dict[str, Any], **expect: Any) -> dict[str, Any]:
    return {"resume": resume, "expect": {**ANSWER, **expect}}


def suite(*steps: dict[str, Any], params: Any = None, **fields: Any) -> dict[str, Any]:
    case: dict[str, Any] = {"id": "c", "steps": list(steps)}
    if params is not None:
        case["params"] = params
    return {"id": "s", "cases": [case], **fields}


class Lenient:
    """A judge of the app's own that lets everything pass."""

    id = "lenient"
    version = "1"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def grade(self, request: Any) -> dict[str, Any]:
        self.asked.append(request.criterion.text)
        return {"passed": True, "reason": "Fine.", "evidence": []}
