"""Cases as they are stored and frozen: stable ids, content hashes, splits. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from parley.engine.script.revision import digest
from parley.server.custom_evaluations.lenient import written
from parley.server.custom_evaluations.schemas import DatasetIn, Question
from parley.server.evaluations.new import NewCase

Stored = Mapping[str, Any]
"""A question as `written` leaves it, with `id` and `contentHash`."""

CRITERIA: Final = {
    "acceptanceCriteria": "acceptance",
    "rejectionCriteria": "rejection",
    "evaluationCriteria": "evaluation",
}
"""Criteria of a dataset, by the name that graders know them under."""
_LONGEST_NAME = 200


def content_of(body: DatasetIn, before: Sequence[Stored], make_id: Callable[[], str]) -> dict[str, Any]:
    """The content of a version: all but the name, each question with its id and content hash.

    A question without an id keeps the one it had `before`, if its content is the same.
    """
    known = _ids_by_content(before, {question.id for question in body.questions})
    questions = [_stored(question, known, make_id) for question in body.questions]
    rest = {name: value for name, value in written(body).items() if name not in ("name", "questions")}
    return rest | {"questions": questions}


def content_hash(question: Stored) -> str:
    """What tells one question from another: all that is asked and how it is judged, neither id nor splits."""
    main = {name: value for name, value in question["main_question"].items() if name != "splits"}
    return digest({"main_question": main, "follow_up_questions": question.get("follow_up_questions", [])})


def frozen(content: Mapping[str, Any], split: str | None) -> list[NewCase]:
    """The cases of a version, or of one of its splits; empty for a split that there is not.

    An index is the place in the whole dataset, in a split too.
    """
    return [
        NewCase(
            case_id=question["id"],
            index=index,
            kind="custom",
            name=question["main_question"]["query"][:_LONGEST_NAME],
            content=question,
            content_hash=question["contentHash"],
        )
        for index, question in enumerate(content["questions"])
        if split is None or split in question["main_question"].get("splits", ())
    ]


def splits_of(content: Mapping[str, Any]) -> list[str]:
    """All splits of a version, sorted."""
    return sorted({name for each in content["questions"] for name in each["main_question"].get("splits", ())})


def criteria_of(content: Mapping[str, Any]) -> dict[str, str]:
    """The criteria of a version, as graders name them."""
    return {name: content[field] for field, name in CRITERIA.items() if content.get(field)}


def _stored(question: Question, known: Mapping[str, deque[str]], make_id: Callable[[], str]) -> Stored:
    plain = {"follow_up_questions": [], **written(question)}
    content = content_hash(plain)
    if question.id is None:
        plain["id"] = known[content].popleft() if known.get(content) else make_id()
    return plain | {"contentHash": content}


def _ids_by_content(before: Iterable[Stored], taken: set[str | None]) -> Mapping[str, deque[str]]:
    found: dict[str, deque[str]] = defaultdict(deque)
    for question in before:
        if question["id"] not in taken:
            found[question["contentHash"]].append(question["id"])
    return found
