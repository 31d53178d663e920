"""Runs of scripted suites that were played in the customer's own process, kept as evaluations."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.record import UNKNOWN, JudgeIdentity, RunRecord
from parley.engine.script.revision import canonical_json
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.server.attempts.finished import keep_finished
from parley.server.attempts.plans import Script, keep_plan
from parley.server.attempts.sent import find_sent, mark_sent
from parley.server.attempts.targets import ProcessTarget
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation, Suite
from parley.server.evaluations import read
from parley.server.evaluations.begin import begin
from parley.server.evaluations.finish import finalize
from parley.server.evaluations.new import NewCase, NewEvaluation
from parley.server.kit.ids import new_id
from parley.server.llm.profiles import PROFILE_NAMES, ProfileName
from parley.server.suites import content
from parley.server.suites.content import Content
from parley.server.suites.frozen_script import scripted_case
from parley.server.suites.script import StoredScript
from parley.server.suites.sent_suites import SentSuites

RUN_SOURCE: Final = "upload"
_PROCESS: Final = ProcessTarget(type="process")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A run that was found to fit its suite, and where its code comes from."""

    run: RunRecord
    sha256: bytes
    """Of all that the run told as it was sent."""
    branch: str | None
    pull_request: str | None


def sha256_of(run: RunRecord) -> bytes:
    """Of all that a run tells."""
    return hashlib.sha256(canonical_json(run.wire()).encode()).digest()


async def keep_run(session: Session, scope: AccountScope, sent: Sent) -> Evaluation:
    """The evaluation of a run, completed; the one there is if the run was sent before.

    Its suite is stored under its id, as a new version where it changed. Raises `IdempotencyConflict`.
    """
    run = sent.run
    suites = SentSuites(session, scope)
    await suites.hold(str(scope.account_id), run.suite.id)
    before = await find_sent(session, scope, run.run_id, sent.sha256)
    if before is not None:
        return await read.require(session, scope, before)
    script = _stored(run)
    suite = await _suite(suites, scope, run, script)
    row = await begin(session, scope, _new(sent, suite, script))
    plan = await keep_plan(session, scope, row.id, _script(run, script))
    await mark_sent(session, plan, run.run_id, sent.sha256)
    await keep_finished(session, scope, row.id, {case.id: case for case in run.suite.cases}, run.attempts)
    return await finalize(session, scope, row.id)


async def _suite(suites: SentSuites, scope: AccountScope, run: RunRecord, stored: StoredScript) -> Suite:
    """The stored suite of a run, as the run has it. It is held, so that twins follow one another."""
    script = stored.written()
    row = await suites.find(run.suite.id)
    if row is None:
        made = Content(description=None, simulated=(), script=script, defaults={})
        name = run.suite.name or run.suite.id
        return await suites.add(
            Suite(account_id=scope.account_id, id=new_id(), name=name, content=content.written(made))
        )
    if row.content["script"] != script:
        row.content, row.version = {**row.content, "script": script}, row.version + 1
        await suites.session.flush()
    return row


def _new(sent: Sent, suite: Suite, script: StoredScript) -> NewEvaluation:
    run = sent.run
    cases = _cases(run, script)
    return NewEvaluation(
        id=new_id(),
        suite_id=suite.id,
        name=suite.name,
        version=suite.version,
        cases=cases,
        grading=_grading(run, cases),
        run_source=RUN_SOURCE,
        commit=None if run.commit == UNKNOWN else run.commit,
        branch=sent.branch,
        pull_request=sent.pull_request,
        options={"run_id": run.run_id, "app_version": run.app_version},
    )


def _grading(run: RunRecord, cases: Sequence[NewCase]) -> Mapping[str, Any]:
    """As of a suite that we play: a part of the cases is compared with the same part alone."""
    judging = run.judge and run.judge.wire()
    grading: dict[str, Any] = {
        "kinds": ["scripted"],
        "script": {"judge": judging, "rubric": RUBRIC_VERSION, "compaction": COMPACTION_VERSION},
    }
    if len(cases) < len(run.suite.cases):
        grading["cases"] = sorted(case.case_id for case in cases)
    return grading


def _cases(run: RunRecord, script: StoredScript) -> list[NewCase]:
    """The cases that were played, each as often as it was."""
    played = Counter(attempt.case_id for attempt in run.attempts)
    return [
        scripted_case(index, case, script, played[case.id])
        for index, case in enumerate(run.suite.cases)
        if played[case.id]
    ]


def _stored(run: RunRecord) -> StoredScript:
    is_ours = run.judge is not None and run.judge.location == "service"
    return StoredScript(
        suite=run.suite,
        target=_PROCESS,
        judge="service" if is_ours else "app",
        profile=profile_of(run.judge) or "low",
    )


def _script(run: RunRecord, script: StoredScript) -> Script:
    return Script(suite=run.suite, target={"asked": script.target.wire()}, judge=_judge(run.judge))


def _judge(judge: JudgeIdentity | None) -> Mapping[str, Any] | None:
    if judge is None:
        return None
    profile = profile_of(judge)
    return {"identity": judge.wire(), **({"profile": profile} if profile else {})}


def profile_of(judge: JudgeIdentity | None) -> ProfileName | None:
    """Whose judge of ours it is; None for any other."""
    if judge is None or judge.location != "service":
        return None
    name = judge.id.removeprefix("parley/")
    return name if name in PROFILE_NAMES else None
