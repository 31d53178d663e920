"""`Evals`: an agent, its suites and its handlers, ready to run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import uuid4

from pydantic import BaseModel

from parley.engine.script.attempt import Surroundings
from parley.engine.script.ports import Judge, Limits
from parley.engine.script.progress import Listener
from parley.engine.script.record import JudgeIdentity, Provenance, RunRecord
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.rubric import ToolVisibility
from parley.engine.script.run import DEFAULT_CONCURRENCY, RunPlan, run
from parley.engine.script.shapes import EVIDENCE_DEFAULTS, Case, Evidence, Suite
from parley.engine.script.work import Stopping
from parley.sdk.ci import origin
from parley.sdk.evals.agents import Agent
from parley.sdk.evals.choosing import chosen_cases, refuse_out_of_bounds
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.description import described
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.handlers import Handler, Handlers, Responder
from parley.sdk.evals.judges import closed, judge_of, prepared
from parley.sdk.evals.naming import unknown_names
from parley.sdk.evals.python_app import PythonApp
from parley.sdk.evals.remote.offer import Offer
from parley.sdk.evals.service_judge import ServiceJudge
from parley.sdk.evals.suites import SuiteSource, load_suite

if TYPE_CHECKING:
    from parley.engine.script.protocol import Capacity
    from parley.sdk.evals.remote.app import RemoteApp
    from parley.sdk.evals.remote.host import HostTimes
    from parley.sdk.evals.remote.store import Store

Who: TypeAlias = Literal["app", "service"]


class Evals:
    """Suites for one agent. Everything is checked here; running it calls nothing that is not there.

    `agent` takes a `Turn`; `execute(context, command)` stands in its place and may call
    `context.run()`. Handlers are sync or async and take as many of their arguments as they want:
    `setup(context)`, responders `(context, interrupt, params)`, references `(context, params)`, filters
    `(item, params)`, `verify(context)`, `teardown(context)`, `report_error(error, context)`. `judge` is the
    app's; `defaults` are the runner's evidence. `suites` are data, paths, or `Suite`s.

    Raises `EvalsMisconfigured`, `SuiteInvalid`.
    """

    def __init__(
        self,
        *,
        agent: Agent | None = None,
        suites: Sequence[SuiteSource],
        setup: Handler | None = None,
        execute: Handler | None = None,
        responders: Mapping[str, Responder | Handler] | None = None,
        references: Mapping[str, Handler] | None = None,
        filters: Mapping[str, Handler] | None = None,
        verify: Handler | None = None,
        teardown: Handler | None = None,
        judge: Any = None,
        params_model: type[BaseModel] | None = None,
        defaults: Evidence | Mapping[str, Any] | None = None,
        report_error: Handler | None = None,
        limits: Limits | None = None,
        tool_visibility: ToolVisibility = "full",
        app_version: str | None = None,
        commit: str | None = None,
    ) -> None:
        if agent is None and execute is None:
            raise EvalsMisconfigured("Evals needs an agent, or an execute in its place.")
        self._suites = _by_id([load_suite(source) for source in suites])
        self._handlers = Handlers(
            agent=agent,
            setup=setup,
            execute=execute,
            responders={name: _responder(given) for name, given in (responders or {}).items()},
            references=dict(references or {}),
            filters=dict(filters or {}),
            verify=verify,
            teardown=teardown,
            report_error=report_error,
            params_model=params_model,
        )
        self._defaults = _evidence(defaults)
        self._judge = judge_of(judge)
        self._limits = limits or Limits()
        self._tool_visibility: ToolVisibility = tool_visibility
        self._provenance = _provenance(commit, app_version)
        self._refuse_unknown_names()

    def list_suites(self) -> list[Suite]:
        """Copies of the suites."""
        return [suite.model_copy(deep=True) for suite in self._suites.values()]

    def describe(self) -> dict[str, Any]:
        """What there is, as data: suites, handlers, params, judge. Runs nothing."""
        return described(self.list_suites(), self._defaults, self._handlers, self._judge)

    async def run(
        self,
        *,
        suite_id: str | None = None,
        case_ids: Sequence[str] | None = None,
        split: str | None = None,
        repetitions: int | None = None,
        concurrency: int = DEFAULT_CONCURRENCY,
        on_progress: Listener | None = None,
        judge: Who | Any = None,
        expect_judge: JudgeIdentity | None = None,
        stopping: Stopping | None = None,
    ) -> RunRecord:
        """Run one suite. `judge` is `app`, `service`, or a judge; without it the app's.

        `expect_judge` pins a judge: any other is refused before anything runs. `stopping.request()` ends
        a run early with everything kept; cancelling the task does the same and raises.
        """
        suite = self._suite(suite_id)
        cases = chosen_cases(suite, case_ids, split)
        refuse_out_of_bounds(repetitions, concurrency)
        asked = self._asked_judge(judge, cases)
        try:
            await prepared(asked, expect_judge)
            plan = RunPlan(
                suite=suite,
                run_id=new_id(),
                cases=cases,
                repetitions=repetitions,
                concurrency=concurrency,
                defaults=self._defaults,
                judge=None if asked is None else asked.identity,
                provenance=self._provenance,
            )
            return await run(plan, self._around(asked, stopping), new_id, on_progress)
        finally:
            await closed(asked)

    def asgi(
        self,
        *,
        service_key: str | Sequence[str],
        store: Store | None = None,
        capacity: Capacity | None = None,
        times: HostTimes | None = None,
    ) -> RemoteApp:
        """A route by which the service has attempts played in this app; mount it in any ASGI app.

        `service_key` is the secret that the service shows: 32 characters at least, several while one is
        being replaced. `store` keeps attempts, in memory unless it is a `PostgresStore`; `capacity` bounds
        those that are played at once and those that wait. Raises `EvalsMisconfigured`.
        """
        from parley.sdk.evals.remote.app import RemoteApp

        offer = Offer(
            suites=self._suites,
            revisions={one.id: suite_revision(one, self._defaults) for one in self._suites.values()},
            defaults=self._defaults,
            provenance=self._provenance,
            describe=self.describe,
            around=self._around,
            judges=self._judge_like,
        )
        return RemoteApp(offer, service_key=service_key, store=store, capacity=capacity, times=times)

    def run_sync(self, **options: Any) -> RunRecord:
        """`run` for code without an event loop; takes the same options."""
        return asyncio.run(self.run(**options))

    def _around(self, judge: Judge | None, stopping: Stopping | None) -> Surroundings:
        return Surroundings(
            app=PythonApp(self._handlers),
            judge=judge,
            clock=SystemClock(),
            limits=self._limits,
            stopping=stopping or Stopping(),
            tool_visibility=self._tool_visibility,
        )

    def _suite(self, suite_id: str | None) -> Suite:
        if suite_id is None and len(self._suites) == 1:
            return next(iter(self._suites.values()))
        if suite_id is None:
            raise EvalsMisconfigured(f"Say which suite: {', '.join(self._suites)}.")
        if suite_id not in self._suites:
            raise EvalsMisconfigured(f"There is no suite {suite_id!r}, only {', '.join(self._suites)}.")
        return self._suites[suite_id]

    def _asked_judge(self, judge: Who | Any, cases: Sequence[Case]) -> Any:
        """The judge of a run; None where there is nothing to judge. Nothing stands in for what was asked."""
        if not any(step.expect.criteria for case in cases for step in case.steps):
            return None
        if judge == "service":
            found = self._service_judge()
        elif judge == "app":
            found = self._app_judge()
        else:
            found = self._judge if judge is None else judge_of(judge)
        if found is None:
            raise EvalsMisconfigured(
                "There are criteria, so a judge is needed: Evals(judge=...), or judge='service'."
            )
        return found

    def _judge_like(self, wanted: JudgeIdentity) -> Any:
        """Who may be meant by an identity; whether it is, shows once it was prepared."""
        if wanted.location == "service":
            return self._service_judge().named(wanted.id)
        return self._app_judge()

    def _service_judge(self) -> ServiceJudge:
        return self._judge if isinstance(self._judge, ServiceJudge) else ServiceJudge()

    def _app_judge(self) -> Any:
        if isinstance(self._judge, ServiceJudge):
            raise EvalsMisconfigured("The app has no judge of its own: its judge is the service's.")
        return self._judge

    def _refuse_unknown_names(self) -> None:
        problems = [
            problem
            for suite in self._suites.values()
            for problem in unknown_names(suite, effective_evidence(suite, self._defaults), self._handlers)
        ]
        if problems:
            raise EvalsMisconfigured(" ".join(problems))


def new_id() -> str:
    """An id that nobody else has."""
    return str(uuid4())


def _by_id(suites: Sequence[Suite]) -> dict[str, Suite]:
    found = {suite.id: suite for suite in suites}
    if not found:
        raise EvalsMisconfigured("Evals needs at least one suite.")
    if len(found) < len(suites):
        raise EvalsMisconfigured("Two suites have the same id.")
    return found


def _responder(given: Responder | Handler) -> Responder:
    return given if isinstance(given, Responder) else Responder(answer=given)


def _evidence(given: Evidence | Mapping[str, Any] | None) -> Evidence:
    if given is None:
        return EVIDENCE_DEFAULTS
    return given if isinstance(given, Evidence) else Evidence.of_wire(dict(given))


def _provenance(commit: str | None, app_version: str | None) -> Provenance:
    told = {"commit": commit or origin(os.environ).commit, "app_version": app_version}
    return Provenance(**{name: value for name, value in told.items() if value})
