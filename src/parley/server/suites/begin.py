"""Beginning an evaluation of a suite: everything that could be wrong is said now, nothing is started yet."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import func

from parley.server.attempts.plans import keep_plan
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation, Suite, SuiteProgress
from parley.server.definitions.offer import Offer
from parley.server.definitions.snapshot import Target
from parley.server.errors import InvalidRequest
from parley.server.evaluations.begin import begin
from parley.server.evaluations.new import NewCase, NewEvaluation
from parley.server.quotas.gate import enter
from parley.server.runs.start import SEED_BOUND
from parley.server.suites import content
from parley.server.suites.content import SuiteCase
from parley.server.suites.freeze import frozen, target_named
from parley.server.suites.frozen_script import FrozenScript, frozen_script
from parley.server.suites.repository import ProgressRepository
from parley.server.suites.schemas import AT_ONCE, HowToRun, StartEvaluation
from parley.server.suites.script import StoredScript, stored
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
    cases = _chosen(suite, asked, wanted.cases)
    target = await target_named(session, scope, offer, asked.gateway)
    script = _script_of(suite, cases)
    frozen_cases = await frozen(session, scope, offer, cases, target, script, asked.repetitions)
    _refuse_too_many(frozen_cases, asked.repetitions or 1)
    by = None
    if script is not None:
        by = await frozen_script(session, scope, offer, script, judge=wanted.judge, instead=target)
    await enter(session, scope.account_id)
    new = NewEvaluation(
        id=evaluation_id,
        suite_id=suite.id,
        name=suite.name,
        version=suite.version,
        cases=frozen_cases,
        grading=_grading(cases, by, wanted.cases),
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
    if by is not None:
        await keep_plan(session, scope, row.id, by.script)
    progress = SuiteProgress(account_id=scope.account_id, evaluation_id=row.id, looked_at_from=func.now())
    await ProgressRepository(session, scope).add(progress)
    return row


def _with_defaults(suite: Suite, wanted: StartEvaluation) -> HowToRun:
    """What was asked for, the suite's defaults where nothing was."""
    asked: dict[str, Any] = suite.content["defaults"] | defaults_of(wanted)
    return HowToRun.model_validate({name: asked[name] for name in HowToRun.model_fields if name in asked})


def _chosen(suite: Suite, asked: HowToRun, case_ids: Sequence[str] | None) -> Sequence[tuple[int, SuiteCase]]:
    read = content.read(suite.content)
    strange = set(case_ids or ()) - {case.id for case in read.cases}
    if strange:
        raise InvalidRequest.field("cases", f"{min(strange)} is not a case of this suite")
    cases = read.of_split(asked.split, case_ids)
    if not cases:
        raise InvalidRequest.field("split", UNKNOWN_SPLIT)
    return cases


def _refuse_too_many(cases: Sequence[NewCase], repetitions: int) -> None:
    count = sum(case.repetitions or repetitions for case in cases)
    if count > MOST_RUNS:
        raise InvalidRequest.field("repetitions", f"make {count} runs; an evaluation has at most {MOST_RUNS}")


def _script_of(suite: Suite, cases: Sequence[tuple[int, SuiteCase]]) -> StoredScript | None:
    """The script, if any of its cases is chosen."""
    if not any(case.kind == "scripted" for _, case in cases):
        return None
    return stored(suite.content["script"])


def _grading(
    cases: Sequence[tuple[int, SuiteCase]], by: FrozenScript | None, only: Sequence[str] | None
) -> Mapping[str, Any]:
    """A simulated case is judged as its test says, which its content hash tells.

    A part of the cases is compared with the same part alone.
    """
    grading: dict[str, Any] = {"kinds": sorted({case.kind for _, case in cases})}
    if by is not None:
        grading["script"] = dict(by.grading)
    if only is not None:
        grading["cases"] = sorted(set(only))
    return grading


def _options(asked: HowToRun, target: Target | None) -> Mapping[str, Any]:
    return {
        "concurrency": asked.concurrency or AT_ONCE,
        "budget_usd": None if asked.budget_usd is None else float(asked.budget_usd),
        "gateway": target and {"slug": target.slug, "id": target.id, "fingerprint": target.fingerprint},
        "seed": secrets.randbelow(SEED_BOUND) if asked.seed is None else asked.seed,
    }
