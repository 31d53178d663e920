"""One attempt at a case, in its exact order; whatever happens, what was done is kept and cleaned up after."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.ports import Clock
from parley.engine.script.checks import checked
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.draft import AttemptDraft, AttemptPlan, StepDraft
from parley.engine.script.faults import Phase, PhaseFailed
from parley.engine.script.fit import has_schema, misfit, resume_check, schema_words
from parley.engine.script.grading import Grading, grade_all
from parley.engine.script.observation import Interrupt, Observation, interrupts_of
from parley.engine.script.phases import Over, Phases
from parley.engine.script.plain import NotPlain, plain
from parley.engine.script.ports import (
    Answer,
    App,
    CallOff,
    Command,
    Context,
    Execution,
    Judge,
    Limits,
    Say,
)
from parley.engine.script.record import AttemptRecord, Input, StepRecord, StoredEvidence
from parley.engine.script.requests import grade_requests
from parley.engine.script.rubric import ToolVisibility
from parley.engine.script.selection import selected
from parley.engine.script.shapes import LiteralResume, Named, Step
from parley.engine.script.work import Stopping

Moment: TypeAlias = Literal["case-started", "case-progress", "step-completed", "case-completed"]
Tell: TypeAlias = Callable[[Moment, AttemptRecord, Phase | None, StepRecord | None], None]
"""Hears how an attempt goes, at once and without waiting."""


def nobody(_moment: Moment, _record: AttemptRecord, _phase: Phase | None, _step: StepRecord | None) -> None:
    """Does not listen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What attempts of one run share."""

    app: App
    judge: Judge | None
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    stopping: Stopping = field(default_factory=Stopping)
    tool_visibility: ToolVisibility = "full"


async def play(plan: AttemptPlan, around: Surroundings, tell: Tell = nobody) -> AttemptRecord:
    """Play one attempt. Never raises for anything that the app, the agent or the judge does."""
    return await _Attempt(plan, around, tell).play()


class _Attempt:
    def __init__(self, plan: AttemptPlan, around: Surroundings, tell: Tell) -> None:
        self._plan = plan
        self._around = around
        self._app = around.app
        self._clock = around.clock
        self._tell_as = tell
        self._draft = AttemptDraft(
            plan=plan, started_at=self._clock.now_ms(), began_s=self._clock.monotonic_s()
        )
        self._context = Context(
            suite=plan.suite,
            case=plan.case,
            attempt_id=plan.attempt_id,
            session_id=plan.session_id,
            repetition=plan.repetition,
        )
        self._phases = Phases(
            self._draft,
            self._context,
            self._app,
            self._clock,
            around.limits,
            around.stopping,
            began=partial(self._tell, "case-progress"),
        )
        self._is_prepared = False
        self._waiting: tuple[Interrupt, ...] = ()

    async def play(self) -> AttemptRecord:
        self._tell("case-started")
        try:
            with suppress(Over):
                await self._prepare()
                await self._converse()
                await self._verify()
        finally:
            await self._clean_up()
        record = self._draft.record(self._clock.monotonic_s())
        self._tell_as("case-completed", record, None, None)
        return record

    async def _prepare(self) -> None:
        self._context.params = await self._phases.within("params", self._validated, None)
        try:
            self._context.prepared = await self._phases.within(
                "setup", lambda: self._app.setup(self._context), self._around.limits.setup_s
            )
            self._is_prepared = True
        except Over:
            # Setup that succeeded while it was being cancelled leaves something to take back.
            self._is_prepared = self._phases.returned_late
            raise

    async def _validated(self) -> Any:
        return self._app.validate_params(copy.deepcopy(self._plan.case.params))

    async def _converse(self) -> None:
        for index, step in enumerate(self._plan.case.steps):
            self._phases.step_index = index
            if not await self._step(index, step):
                break
        self._phases.step_index = None

    async def _verify(self) -> None:
        if self._app.verifies:
            self._draft.verification = await self._phases.within(
                "verification", lambda: self._app.verify(self._context), self._around.limits.verify_s
            )

    async def _clean_up(self) -> None:
        """Call off what waits, then tear down, each within its own time and whatever else is wished for."""
        for interrupt in self._waiting:
            await self._phases.clean_up(
                partial(self._app.execute, self._context, CallOff(interrupt=interrupt))
            )
        if self._is_prepared:
            await self._phases.clean_up(lambda: self._app.teardown(self._context))

    # One step

    async def _step(self, index: int, step: Step) -> bool:
        """Whether the conversation goes on after this step. Whatever happens, what there is of it is kept."""
        draft = StepDraft(
            index=index,
            input=Input(message=step.message, resume=step.resume),
            started_at=self._clock.now_ms(),
        )
        over: Literal["error", "cancelled"] | None = "error"
        try:
            goes_on = await self._play_step(draft, step)
            over = None
            return goes_on
        except Over:
            over = "cancelled" if self._draft.is_cancelled else "error"
            raise
        finally:
            self._keep(draft.record(over))

    def _keep(self, record: StepRecord) -> None:
        self._draft.steps.append(record)
        self._context.history.append(record)
        self._tell("step-completed", step=record)

    async def _play_step(self, draft: StepDraft, step: Step) -> bool:
        command = await self._command(draft, step)
        if command is None:
            return False
        execution = await self._execute(draft, command)
        after_cancel = command.kind == "resume" and command.resume.type == "cancel"
        self._take(execution, after_cancel)
        self._check(draft, step, execution.observation, after_cancel)
        if not all(check.passed for check in draft.checks):
            return False
        await self._refer(draft, step)
        self._select(draft, execution.observation)
        if step.expect.criteria:
            await self._grade(draft, step)
        failed = any(criterion.status == "failed" for criterion in draft.criteria)
        return not (failed and self._plan.suite.on_semantic_failure == "stop")

    async def _command(self, draft: StepDraft, step: Step) -> Command | None:
        """What the agent is given; None where the resume does not fit what it offers."""
        if step.message is not None:
            return Say(text=step.message)
        assert step.resume is not None, "a step has a message or a resume"
        interrupt = self._waiting[0]
        if isinstance(step.resume, Named):
            respond = partial(self._respond, step.resume, interrupt)
            draft.resumed = await self._phases.within_case("responder", respond)
            return Answer(interrupt=interrupt, resume=draft.resumed)
        check = resume_check(step.resume, interrupt)
        if not check.passed:
            draft.checks = (check,)
            return None
        return Answer(interrupt=interrupt, resume=step.resume)

    async def _respond(self, named: Named, interrupt: Interrupt) -> LiteralResume:
        schema_id, schema_version = self._app.responder_schema(named.using)
        if not has_schema(interrupt, schema_id, schema_version):
            raise PhaseFailed(
                "responder",
                "interrupt_schema",
                f"The responder {named.using!r} answers {schema_words(schema_id, schema_version)}; "
                f"the pause carries {schema_words(interrupt.schema_id, interrupt.schema_version)}.",
            )
        resume = await self._app.respond(named, self._context, interrupt)
        problem = misfit(resume, interrupt)
        if problem:
            told = f"The responder {named.using!r} does not fit. {problem}"
            raise PhaseFailed("responder", "resume_does_not_fit", told)
        return resume

    async def _execute(self, draft: StepDraft, command: Command) -> Execution:
        # From here on the pause is the agent's: it was given an answer, whatever it makes of it.
        self._waiting = ()
        began_s = self._clock.monotonic_s()
        try:
            execution = await self._phases.within_case(
                "execute", lambda: self._app.execute(self._context, command)
            )
        finally:
            draft.latency_ms = round((self._clock.monotonic_s() - began_s) * 1000)
        draft.observation = execution.observation
        return execution

    def _take(self, execution: Execution, after_cancel: bool) -> None:
        """Remember what waits, and end the conversation where it cannot go on."""
        observation = execution.observation
        pauses = interrupts_of(observation) if observation.type == "interrupt" else ()
        self._context.continuation = execution.continuation
        self._waiting = pauses if execution.continuation is not None else ()
        if len(pauses) > 1:
            self._fail("execute", "two_interrupts", f"{len(pauses)} interrupts wait at once.")
        if pauses and execution.continuation is None:
            told = "The agent paused without a continuation, so nobody can resume it."
            self._fail("execute", "interrupt_without_continuation", told)
        if observation.type == "error":
            self._fail("execute", "agent_error", _told_failure(observation))
        if observation.type == "cancelled" and not after_cancel:
            self._phases.cancel()

    def _check(self, draft: StepDraft, step: Step, observation: Observation, after_cancel: bool) -> None:
        assert draft.latency_ms is not None, "what was executed took a time"
        try:
            draft.checks = checked(step.expect, observation, draft.latency_ms, after_cancel=after_cancel)
        except CheckCouldNotRun as error:
            self._fail("grading", "check_could_not_run", error.problem)

    async def _refer(self, draft: StepDraft, step: Step) -> None:
        named = step.expect.named_reference
        if named is None:
            if step.expect.reference is not None:
                draft.reference = step.expect.reference
            return
        found = await self._phases.within_case("reference", lambda: self._app.reference(named, self._context))
        try:
            draft.reference = plain(found)
        except NotPlain as error:
            told = f"The reference {named.using!r} is no JSON: {error.problem}."
            self._fail("reference", "not_json", told)

    def _select(self, draft: StepDraft, observation: Observation) -> None:
        policy = self._plan.evidence
        try:
            evidence = selected(observation, policy, self._app.filters)
        except PhaseFailed as error:
            self._phases.fail(error)
        draft.evidence = StoredEvidence(
            compaction_version=COMPACTION_VERSION,
            selection=policy,
            history=policy.history is not False,
            observation=evidence,
        )

    async def _grade(self, draft: StepDraft, step: Step) -> None:
        if self._around.judge is None:
            self._fail("grading", "no_judge", "There are criteria and no judge.")
        grading = Grading(
            judge=self._around.judge,
            clock=self._clock,
            limit_s=self._around.limits.judge_s,
            grace_s=self._around.limits.cleanup_s,
            stopping=self._around.stopping,
        )
        requests = grade_requests(draft.record(), step, self._draft.steps, self._around.tool_visibility)
        with self._phases.timed("grading"):
            try:
                outcomes = await grade_all(grading, requests, draft.index)
            except PhaseFailed as error:
                self._phases.fail(error)
        draft.criteria = tuple(one.record for one in outcomes)
        self._draft.errors += [one.error for one in outcomes if one.error]
        if any(one.stopped for one in outcomes):
            self._phases.cancel()
        if any(one.error for one in outcomes):
            raise Over

    def _fail(self, phase: Phase, code: str, message: str) -> NoReturn:
        self._phases.fail(PhaseFailed(phase, code, message))

    def _tell(self, moment: Moment, phase: Phase | None = None, step: StepRecord | None = None) -> None:
        self._tell_as(moment, self._draft.record(self._clock.monotonic_s()), phase, step)


def _told_failure(observation: Observation) -> str:
    """That the agent ended with an error, and which, if its last event says so."""
    last = observation.events[-1] if observation.events else None
    why = last.text if last and last.type == "error" and last.text else ""
    return f"The agent ended the step with an error. {why}".rstrip()
