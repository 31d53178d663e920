"""Beginning an evaluation: cases are frozen, nothing can change them any more."""

from __future__ import annotations

from parley.engine.script.revision import digest
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.evaluations.new import NewCase, NewEvaluation
from parley.server.evaluations.repository import CaseRepository, EvaluationRepository
from parley.server.kit.clock import utc_now
from parley.server.kit.ids import new_id


async def begin(session: Session, scope: AccountScope, new: NewEvaluation) -> Evaluation:
    """The evaluation, `in_progress`, with its cases. Raises ValueError without a case.

    Producers check before it whatever a customer could get wrong (balance, an unknown split).
    """
    if not new.cases:
        raise ValueError("an evaluation needs a case")
    row = Evaluation(
        account_id=scope.account_id,
        id=new.id,
        dataset_id=new.dataset_id,
        suite_id=new.suite_id,
        name=new.name,
        version=new.version,
        split=new.split,
        repetitions=new.repetitions,
        case_count=len(new.cases),
        expected_count=_expected(new),
        run_source=new.run_source,
        commit=new.commit,
        branch=new.branch,
        pull_request=new.pull_request,
        settings_id=new.settings_id,
        grading=dict(new.grading),
        grading_hash=digest(dict(new.grading)),
        pass_rating=new.pass_rating,
        options=dict(new.options),
        expires_at=utc_now() + new.open_for if new.open_for else None,
    )
    await EvaluationRepository(session, scope).add(row)
    rows = [_row(scope, new, case) for case in new.cases]
    await CaseRepository(session, scope).add_all(rows)
    return row


def _row(scope: AccountScope, new: NewEvaluation, case: NewCase) -> dict[str, object]:
    return {
        "account_id": scope.account_id,
        "id": new_id(),
        "evaluation_id": new.id,
        "case_id": case.case_id,
        "index": case.index,
        "kind": case.kind,
        "name": case.name,
        "content": dict(case.content),
        "content_hash": case.content_hash,
        "grader_hash": case.grader_hash,
        "target_hash": case.target_hash,
        "repetitions": case.repetitions,
    }


def _expected(new: NewEvaluation) -> int | None:
    """How many results there should be, where not every case is repeated alike."""
    if all(case.repetitions is None for case in new.cases):
        return None
    return sum(case.repetitions or new.repetitions for case in new.cases)
