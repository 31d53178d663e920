"""Beginning an evaluation of a suite: everything that could be wrong is said now, nothing is started yet."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import func

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation, Suite, SuiteProgress
from parley.server.definitions.offer import Offer
from parley.server.definitions.snapshot import Target
from parley.server.errors import InvalidRequest
from parley.server.evaluations.begin import begin
from parley.server.evaluations.new import NewEvaluation
from parley.server.quotas.gate import enter
from parley.server.runs.start import SEED_BOUND
from parley.server.suites import content
from parley.server.suites.content import SuiteCase
from parley.server.suites.freeze import frozen, target_named
from parley.server.suites.repository import ProgressRepository
from parley.server.suites.schemas import AT_ONCE, HowToRun, StartEvaluation
from parley.server.suites.service import UNKNOWN_SPLIT, defaults_of, found

MOST_RUNS: Final = 2_000
"""Cases times repetitions of one evaluation: seven hours at the five runs a minute of the smallest plan."""
OPEN_FOR: Final = timedelta(days=7)
"""A suite waits for quota and slots; one that does so for this long expires."""

RunSource: TypeAlias = Literal["schedule"]


async def begin_evaluation(
    session: Session,
    scope: AccountScope,
    offer: Offer,
    suite_id: UUID,
    wanted: StartEvaluation,
    *,
    evaluation_id: UUID,
    run_source: RunSource | None = None,
) -> Evaluation:
    """An evaluation with its cases frozen, handed to the workers.

    Raises `NotFound`, `InvalidRequest` (an unknown split or gateway, too many runs, a test that is gone),
    `AccountSuspended`, `BalanceExhausted`, `LlmsNotConfigured`.
    """
    suite = (await found(session, scope, suite_id)).row
    asked = _with_defaults(suite, wanted)
    cases = _chosen(suite, asked)
    target = await target_named(session, scope, offer, asked.gateway)
    frozen_cases = await frozen(session, scope, offer, cases, target)
    await enter(session, scope.account_id)
    new = NewEvaluation(
        id=evaluation_id,
        suite_id=suite.id,
        name=suite.name,
        version=suite.version,
        cases=frozen_cases,
        grading=_grading(cases),
        split=asked.split,
        repetitions=asked.repetitions or 1,
        run_source=run_source,
        commit=wanted.commit,
        branch=wanted.branch,
        pull_request=wanted.pull_request,
        options=_options(asked, target),
        open_for=OPEN_FOR,
    )
    row = await begin(session, scope, new)
    progress = SuiteProgress(account_id=scope.account_id, evaluation_id=row.id, looked_at_from=func.now())
    await ProgressRepository(session, scope).add(progress)
    return row


def _with_defaults(suite: Suite, wanted: StartEvaluation) -> HowToRun:
    """What was asked for, the suite's defaults where nothing was."""
    asked: dict[str, Any] = suite.content["defaults"] | defaults_of(wanted)
    return HowToRun.model_validate({name: asked[name] for name in HowToRun.model_fields if name in asked})


def _chosen(suite: Suite, asked: HowToRun) -> Sequence[tuple[int, SuiteCase]]:
    cases = content.read(suite.content).of_split(asked.split)
    if not cases:
        raise InvalidRequest.field("split", UNKNOWN_SPLIT)
    count = len(cases) * (asked.repetitions or 1)
    if count > MOST_RUNS:
        raise InvalidRequest.field("repetitions", f"make {count} runs; an evaluation has at most {MOST_RUNS}")
    return cases


def _grading(cases: Sequence[tuple[int, SuiteCase]]) -> Mapping[str, Any]:
    """A simulated case is judged as its test says, which its content hash tells."""
    return {"kinds": sorted({case.kind for _, case in cases})}


def _options(asked: HowToRun, target: Target | None) -> Mapping[str, Any]:
    return {
        "concurrency": asked.concurrency or AT_ONCE,
        "budget_usd": None if asked.budget_usd is None else float(asked.budget_usd),
        "gateway": target and {"slug": target.slug, "id": target.id, "fingerprint": target.fingerprint},
        "seed": secrets.randbelow(SEED_BOUND) if asked.seed is None else asked.seed,
    }
