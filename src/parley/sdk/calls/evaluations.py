"""`/api/v1/evaluations`, `/api/v1/gates` and `/api/v1/suites`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from parley.sdk.answers import Answer
from parley.sdk.call import Call, data_of, get, once, segment
from parley.sdk.offers import D, Group, Method, Paged
from parley.sdk.paging import Page, page_of
from parley.sdk.verdicts import Attempt, CaseResult, Comparison, Evaluation, Flip, GateAnswer, Suite

EVALUATIONS = "/api/v1/evaluations"
SUITES = "/api/v1/suites"
_LONGEST_WAIT_S = 90.0
"""The service waits for open scoring for up to a minute."""


class GateChecks(TypedDict, total=False):
    """What a gate is asked; at least one check. The reference explains each."""

    fail_under: float
    no_regression: bool
    tolerance: float
    min_pass_rate: float
    max_regressed_cases: int
    min_coverage: float
    significance: float
    baseline: str
    record: bool
    caller: str


class Regrade(TypedDict, total=False):
    """Who judges again, and by what; what is left out stays as it was.

    `votes` and `pass_rating` are for datasets, `case_criteria` (by case id) for suites.
    """

    profile: str
    llm: str
    criteria: str
    case_criteria: dict[str, str]
    votes: int
    pass_rating: float


class SuiteOptions(TypedDict, total=False):
    """How a suite is run; see docs/reference/evaluations.md."""

    split: str
    cases: list[str]
    repetitions: int
    concurrency: int
    gateway: str
    budget_usd: float
    judge: Any
    commit: str
    branch: str


_WIRE_NAMES = {
    "fail_under": "failUnder",
    "no_regression": "noRegression",
    "min_pass_rate": "minPassRate",
    "max_regressed_cases": "maxRegressedCases",
    "min_coverage": "minCoverage",
}


def list_evaluations(
    *,
    dataset: str | None = None,
    suite: str | None = None,
    split: str | None = None,
    state: str | None = None,
    branch: str | None = None,
    commit: str | None = None,
    limit: int = 100,
) -> Call[Page[Evaluation]]:
    """The account's evaluations, newest first."""
    return get(
        EVALUATIONS,
        page_of(Evaluation),
        dataset=dataset,
        suite=suite,
        split=split,
        state=state,
        branch=branch,
        commit=commit,
        limit=limit,
    )


def get_evaluation(evaluation_id: str) -> Call[Evaluation]:
    """An evaluation with its statistics."""
    return get(_evaluation(evaluation_id), data_of(Evaluation))


def list_results(
    evaluation_id: str, *, status: str | None = None, case: str | None = None, limit: int = 100
) -> Call[Page[CaseResult]]:
    """The case results of an evaluation, in the order of the cases."""
    return get(
        f"{_evaluation(evaluation_id)}/results", page_of(CaseResult), status=status, case=case, limit=limit
    )


def list_attempts(
    evaluation_id: str,
    *,
    status: str | None = None,
    case: str | None = None,
    repetition: int | None = None,
    limit: int = 100,
) -> Call[Page[Attempt]]:
    """The attempts at scripted cases, in the order of the cases, without their records."""
    return get(
        f"{_evaluation(evaluation_id)}/attempts",
        page_of(Attempt),
        status=status,
        case=case,
        repetition=repetition,
        limit=limit,
    )


def get_attempt(evaluation_id: str, attempt_id: str) -> Call[Attempt]:
    """An attempt with its whole record."""
    return get(f"{_evaluation(evaluation_id)}/attempts/{segment(attempt_id)}", data_of(Attempt))


def cancel_evaluation(evaluation_id: str) -> Call[Evaluation]:
    """Cancel an evaluation; one that has ended stays as it is."""
    return Call(
        method="POST",
        path=f"{_evaluation(evaluation_id)}/cancel",
        read=data_of(Evaluation),
        is_repeatable=True,
    )


def compare(evaluation_id: str, baseline_id: str) -> Call[Comparison]:
    """An evaluation beside a baseline, case by case."""
    return get(f"{_evaluation(evaluation_id)}/compare", data_of(Comparison), baseline=baseline_id)


def ask_gate(evaluation_id: str, **checks: Unpack[GateChecks]) -> Call[GateAnswer]:
    """Whether an evaluation passes. Coverage is checked at 1 unless `min_coverage` says otherwise."""
    asked = {_WIRE_NAMES.get(name, name): value for name, value in checks.items()}
    call = get(f"{_evaluation(evaluation_id)}/gate", data_of(GateAnswer), **asked)
    return dataclasses.replace(call, timeout_s=_LONGEST_WAIT_S)


def regrade(evaluation_id: str, **grader: Unpack[Regrade]) -> Call[Evaluation]:
    """Judge what was kept again, as a new evaluation. A call that got no answer is not sent again."""
    body = {name: value for name, value in grader.items() if value is not None}
    return Call(
        method="POST", path=f"{_evaluation(evaluation_id)}/regrade", read=data_of(Evaluation), body=body
    )


def list_flips(evaluation_id: str) -> Call[list[Flip]]:
    """Of a regraded evaluation: the verdicts that differ from those before."""
    return get(f"{_evaluation(evaluation_id)}/flips", _flips_of)


def pin(evaluation_id: str) -> Call[Answer]:
    """Make it the pinned baseline of its dataset or suite."""
    return Call(
        method="POST", path=f"{_evaluation(evaluation_id)}/pin", read=data_of(Answer), is_repeatable=True
    )


def list_suites(*, limit: int = 100) -> Call[Page[Suite]]:
    """The account's suites, newest first."""
    return get(SUITES, page_of(Suite), limit=limit)


def get_suite(suite_id: str) -> Call[Suite]:
    """A suite."""
    return get(f"{SUITES}/{segment(suite_id)}", data_of(Suite))


def create_suite(body: Mapping[str, Any]) -> Call[Suite]:
    """Make a suite; docs/reference/evaluations.md has its fields. Without an answer it is not sent again."""
    return Call(method="POST", path=SUITES, read=data_of(Suite), body=dict(body))


def change_suite(suite_id: str, body: Mapping[str, Any]) -> Call[Suite]:
    """Change what `body` holds of a suite."""
    return Call(
        method="PATCH",
        path=f"{SUITES}/{segment(suite_id)}",
        read=data_of(Suite),
        body=dict(body),
        is_repeatable=True,
    )


def start_suite(
    suite_id: str, *, idempotency_key: str | None = None, **options: Unpack[SuiteOptions]
) -> Call[Evaluation]:
    """Run a suite. A start that got no answer is not sent again by itself."""
    return Call(
        method="POST",
        path=f"{SUITES}/{segment(suite_id)}/evaluations",
        read=data_of(Evaluation),
        body={name: value for name, value in options.items() if value is not None},
        headers=once(idempotency_key),
    )


class Evaluations(Group[D]):
    """`client.evaluations`."""

    list = Paged(list_evaluations)
    get = Method(get_evaluation)
    results = Paged(list_results)
    attempts = Paged(list_attempts)
    attempt = Method(get_attempt)
    cancel = Method(cancel_evaluation)
    compare = Method(compare)
    gate = Method(ask_gate)
    regrade = Method(regrade)
    flips = Method(list_flips)
    pin = Method(pin)


class Suites(Group[D]):
    """`client.suites`."""

    list = Paged(list_suites)
    get = Method(get_suite)
    create = Method(create_suite)
    change = Method(change_suite)
    start = Method(start_suite)


def _flips_of(body: Any) -> list[Flip]:
    return [Flip.model_validate(flip) for flip in body["data"]]


def _evaluation(evaluation_id: str) -> str:
    return f"{EVALUATIONS}/{segment(evaluation_id)}"
