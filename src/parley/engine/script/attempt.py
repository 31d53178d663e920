"""One attempt at a case, in its exact order; whatever happens, what was done is kept and cleaned up after."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.ports import Clock
from parley.engine.script.checks import checked, has_schema, misfit, resume_check, schema_words
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.draft import AttemptDraft, AttemptPlan, StepDraft
from parley.engine.script.faults import Phase, PhaseFailed
from parley.engine.script.grading import Grading, grade_all
from parley.engine.script.observation import Interrupt, Observation, interrupts_of
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
from parley.engine.script.rubric import EarlierStep, GradeRequest, ToolVisibility
from parley.engine.script.selection import selected
from parley.engine.script.shapes import LiteralResume, Named, Step
from parley.engine.script.told_errors import error_record
from parley.engine.script.work import CancelledItself, Overdue, Stopped, Stopping, WorkEnded, bounded

T = TypeVar("T")

Moment: TypeAlias = Literal["case-started", "case-progress", "step-completed", "case-completed"]
Tell: TypeAlias = Callable[[Moment, AttemptRecord, Phase | None, StepRecord | None], None]
"""Hears how an attempt goes, at once and without waiting."""
REPORT_S: Final = 5.0
"""For `report_error`: an answer that takes longer is gone without."""


def _nobody(_moment: Moment, _record: AttemptRecord, _phase: Phase | None, _step: StepRecord | None) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What attempts of one run share."""

    app: App
    judge: Judge | None
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    stopping: Stopping = field(default_factory=Stopping)
    tool_visibility: ToolVisibility = "full"


async def play(plan: AttemptPlan, around: Surroundings, tell: Tell = _nobody) -> AttemptRecord:
    """Play one attempt. Never raises for anything that the app, the agent or the judge does."""
    return await _Attempt(plan, around, tell).play()


class _Over(Exception):
    """The conversation is over before its time; why stands in the draft."""


class _Attempt:
    def __init__(self, plan: AttemptPlan, around: Surroundings, tell: Tell) -> None:
        self._plan = plan
        self._app = around.app
        self._judge = around.judge
        self._clock = around.clock
        self._limits = around.limits
        self._stopping = around.stopping
        self._around = around
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
        self._is_prepared = False
        self._case_left_s = self._limits.case_s
        self._waiting: tuple[Interrupt, ...] = ()
        self._step_index: int | None = None

    async def play(self) -> AttemptRecord:
        self._tell("case-started")
        try:
            await self._hold()
        except _Over:
            pass
        finally:
            await self._clean_up()
        record = self._draft.record(self._clock.monotonic_s())
        self._tell_as("case-completed", record, None, None)
        return record

    async def _hold(self) -> None:
        await self._prepare()
        for index, step in enumerate(self._plan.case.steps):
            self._step_index = index
            if not await self._step(index, step):
                break
        self._step_index = None
        if self._app.verifies:
            await self._verify()

    # Before the conversation

    async def _prepare(self) -> None:
        self._context.params = await self._phase("params", self._validated, self._limits.case_s)
        limit_s = self._limits.case_s if self._limits.setup_s is None else self._limits.setup_s
        self._context.prepared = await self._phase("setup", self._set_up, limit_s)
        self._is_prepared = True

    async def _validated(self) -> Any:
        return self._app.validate_params(copy.deepcopy(self._plan.case.params))

    async def _set_up(self) -> Any:
        return await self._app.setup(self._context)

    # One step

    async def _step(self, index: int, step: Step) -> bool:
        """Whether the conversation goes on after this step."""
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
        except _Over:
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
            named = step.resume
            resume = await self._within_case("responder", lambda: self._respond(named, interrupt))
            draft.resumed = resume
        else:
            resume = step.resume
            check = resume_check(resume, interrupt)
            if not check.passed:
                draft.checks = (check,)
                return None
        return Answer(interrupt=interrupt, resume=resume)

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
            raise PhaseFailed(
                "responder", "resume_does_not_fit", f"The responder {named.using!r} does not fit. {problem}"
            )
        return resume

    async def _execute(self, draft: StepDraft, command: Command) -> Execution:
        # From here on the pause is the agent's: it was given an answer, whatever it makes of it.
        self._waiting = ()
        began_s = self._clock.monotonic_s()
        try:
            execution = await self._within_case("execute", lambda: self._app.execute(self._context, command))
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
            self._fail(PhaseFailed("execute", "two_interrupts", f"{len(pauses)} interrupts wait at once."))
        if pauses and execution.continuation is None:
            message = "The agent paused without a continuation, so nobody can resume it."
            self._fail(PhaseFailed("execute", "interrupt_without_continuation", message))
        if observation.type == "error":
            self._fail(PhaseFailed("execute", "agent_error", "The agent ended the step with an error."))
        if observation.type == "cancelled" and not after_cancel:
            self._draft.is_cancelled = True
            raise _Over

    def _check(self, draft: StepDraft, step: Step, observation: Observation, after_cancel: bool) -> None:
        assert draft.latency_ms is not None, "what was executed took a time"
        try:
            draft.checks = checked(step.expect, observation, draft.latency_ms, after_cancel=after_cancel)
        except CheckCouldNotRun as error:
            self._fail(PhaseFailed("grading", "check_could_not_run", error.problem))

    async def _refer(self, draft: StepDraft, step: Step) -> None:
        named = step.expect.named_reference
        if named:
            found = await self._within_case("reference", lambda: self._app.reference(named, self._context))
            try:
                draft.reference = plain(found)
            except NotPlain as error:
                told = f"The reference {named.using!r} is no JSON: {error.problem}."
                self._fail(PhaseFailed("reference", "not_json", told))
        elif step.expect.reference is not None:
            draft.reference = step.expect.reference

    def _select(self, draft: StepDraft, observation: Observation) -> None:
        policy = self._plan.evidence
        try:
            evidence = selected(observation, policy, self._app.filters)
        except PhaseFailed as error:
            self._fail(error)
        draft.evidence = StoredEvidence(
            compaction_version=COMPACTION_VERSION,
            selection=policy,
            history=policy.history is not False,
            observation=evidence,
        )

    async def _grade(self, draft: StepDraft, step: Step) -> None:
        if self._judge is None:
            self._fail(PhaseFailed("grading", "no_judge", "There are criteria and no judge."))
        grading = Grading(
            judge=self._judge,
            clock=self._clock,
            limit_s=self._limits.judge_s,
            grace_s=self._limits.cleanup_s,
            stopping=self._stopping,
        )
        requests = grade_requests(draft.record(), step, self._draft.steps, self._around.tool_visibility)
        self._tell("case-progress", "grading")
        began_s = self._clock.monotonic_s()
        try:
            outcomes = await grade_all(grading, requests, draft.index)
        except PhaseFailed as error:
            self._fail(error)
        finally:
            self._spend("grading", began_s)
        draft.criteria = tuple(one.record for one in outcomes)
        self._draft.errors += [one.error for one in outcomes if one.error]
        if any(one.stopped for one in outcomes):
            self._draft.is_cancelled = True
        if self._draft.is_cancelled or any(one.error for one in outcomes):
            raise _Over

    # After the conversation

    async def _verify(self) -> None:
        limit_s = self._limits.case_s if self._limits.verify_s is None else self._limits.verify_s
        self._draft.verification = await self._phase(
            "verification", lambda: self._app.verify(self._context), limit_s
        )

    async def _clean_up(self) -> None:
        """Call off what waits, then tear down, each within its own time and whatever else is wished for."""
        for interrupt in self._waiting:
            await self._cleanup(partial(self._app.execute, self._context, CallOff(interrupt=interrupt)))
        if self._is_prepared:
            await self._cleanup(lambda: self._app.teardown(self._context))

    async def _cleanup(self, start: Callable[[], Awaitable[Any]]) -> None:
        self._context.deadline_s = self._clock.monotonic_s() + self._limits.cleanup_s
        try:
            await self._phase("cleanup", start, self._limits.cleanup_s, stopping=None)
        except _Over:
            return

    # Phases

    async def _within_case(self, phase: Phase, start: Callable[[], Awaitable[T]]) -> T:
        """A phase on the clock of the case."""
        began_s = self._clock.monotonic_s()
        self._context.deadline_s = began_s + self._case_left_s
        try:
            return await self._phase(phase, start, self._case_left_s, limit_told_s=self._limits.case_s)
        finally:
            self._case_left_s -= self._clock.monotonic_s() - began_s

    async def _phase(
        self,
        phase: Phase,
        start: Callable[[], Awaitable[T]],
        limit_s: float,
        *,
        limit_told_s: float | None = None,
        stopping: Stopping | Literal["run"] | None = "run",
    ) -> T:
        """What `start()` gives. Raises `_Over`, with the reason in the draft, when it gives nothing."""
        self._tell("case-progress", phase)
        began_s = self._clock.monotonic_s()
        watched = self._stopping if stopping == "run" else stopping
        try:
            return await bounded(start, limit_s, grace_s=self._limits.cleanup_s, stopping=watched)
        except Stopped as ended:
            self._draft.is_cancelled = True
            self._note_end(phase, ended)
            raise _Over from None
        except Overdue as ended:
            told = f"It took longer than {limit_told_s or limit_s:g} seconds."
            self._record_error(PhaseFailed(phase, "overdue", told), phase)
            self._note_end(phase, ended)
            raise _Over from None
        except CancelledItself:
            told = "It was cancelled from within."
            self._record_error(PhaseFailed(phase, "cancelled_itself", told), phase)
            raise _Over from None
        except Exception as error:
            await self._report(error, phase)
            raise _Over from None
        finally:
            self._spend(phase, began_s)

    def _note_end(self, phase: Phase, ended: WorkEnded) -> None:
        if ended.hangs:
            told = f"Work of {phase} was cancelled and did not end within {self._limits.cleanup_s:g} s."
            self._record_error(PhaseFailed("cleanup", "work_not_ended", told), "cleanup")
        if phase == "setup" and ended.returned:
            # It was cancelled and came to its end all the same, so there is something to take back.
            self._is_prepared = True

    async def _report(self, error: Exception, phase: Phase) -> None:
        record = error_record(phase, error, step_index=self._step_index)
        try:
            diagnostic = await bounded(
                lambda: self._app.report_error(self._context, error), REPORT_S, grace_s=REPORT_S
            )
        except (Exception, asyncio.CancelledError) as fault:
            self._draft.errors.append(error_record("reporting", fault))
            diagnostic = None
        self._draft.errors.append(record.model_copy(update={"diagnostic_id": diagnostic}))

    def _record_error(self, error: Exception, phase: Phase) -> None:
        self._draft.errors.append(error_record(phase, error, step_index=self._step_index))

    def _fail(self, error: PhaseFailed) -> NoReturn:
        """Record the error and end the conversation."""
        self._record_error(error, error.phase)
        raise _Over

    def _spend(self, phase: Phase, began_s: float) -> None:
        spent = self._draft.durations_s
        spent[phase] = spent.get(phase, 0.0) + self._clock.monotonic_s() - began_s

    def _tell(self, moment: Moment, phase: Phase | None = None, step: StepRecord | None = None) -> None:
        self._tell_as(moment, self._draft.record(self._clock.monotonic_s()), phase, step)


def grade_requests(
    judged: StepRecord, step: Step, before: list[StepRecord], tool_visibility: ToolVisibility
) -> list[GradeRequest]:
    """What the judge gets for each criterion of a step, from stored evidence alone."""
    evidence = judged.evidence
    assert evidence is not None, "evidence is stored before it is judged"
    earlier = tuple(
        EarlierStep(input=said_in(one), observation=one.evidence.observation)
        for one in before
        if evidence.history and one.evidence
    )
    kept = {"reference": judged.reference} if "reference" in judged.model_fields_set else {}
    return [
        GradeRequest(
            criterion=criterion,
            input=said_in(judged),
            observation=evidence.observation,
            earlier=earlier,
            tool_visibility=tool_visibility,
            **kept,
        )
        for criterion in step.expect.criteria
    ]


def said_in(step: StepRecord) -> Input:
    """What the agent was really given: the words, or what a responder made of the pause."""
    return Input(resume=step.resumed) if step.resumed else step.input
