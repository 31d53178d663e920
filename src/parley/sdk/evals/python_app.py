"""The engine's app, made of a customer's callables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from parley.engine.script.observation import Interrupt
from parley.engine.script.plain import plain
from parley.engine.script.ports import Command, Context, Execution
from parley.engine.script.record import Verification
from parley.engine.script.selection import Filter
from parley.engine.script.shapes import LiteralResume, Named, Resume, ResumeText
from parley.sdk.evals.agents import execution_of, turn_of
from parley.sdk.evals.calling import call, fitting
from parley.sdk.evals.handlers import Handler, Handlers
from parley.sdk.evals.identity import Identity, acting_for
from parley.sdk.evals.pause import Pause
from parley.sdk.evals.run_context import RunContext
from parley.sdk.evals.step_notes import noting

_RESUME: TypeAdapter[Any] = TypeAdapter(Resume)


class PythonApp:
    """Calls the handlers, each on behalf of its attempt."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self.filters: Mapping[str, Filter] = {
            name: _filter(function) for name, function in handlers.filters.items()
        }

    @property
    def verifies(self) -> bool:
        """Whether there is a `verify`."""
        return self._handlers.verify is not None

    def validate_params(self, params: Any) -> Any:
        """Params as the model has them, or as they are."""
        model = self._handlers.params_model
        return params if model is None else model.model_validate({} if params is None else params)

    async def setup(self, context: Context) -> Any:
        """The app's `setup`."""
        return await self._call(self._handlers.setup, context)

    async def execute(self, context: Context, command: Command) -> Execution:
        """The app's `execute`, or the agent."""
        with acting_for(_identity(context)), noting() as notes:
            given: Any
            try:
                if self._handlers.execute is None:
                    given = await self._ask_agent(context, command)
                else:
                    own = self._context(context, command)
                    given = await call(self._handlers.execute, own, command)
            except Pause as pause:
                given = pause
            return execution_of(given, notes)

    def responder_schema(self, name: str) -> tuple[str | None, str | None]:
        """What the responder declares."""
        responder = self._handlers.responders[name]
        return responder.schema_id, responder.schema_version

    async def respond(self, named: Named, context: Context, interrupt: Interrupt) -> LiteralResume:
        """The app's responder."""
        answer = self._handlers.responders[named.using].answer
        return _resume(await self._call(answer, context, interrupt, named.params))

    async def reference(self, named: Named, context: Context) -> Any:
        """The app's reference."""
        return await self._call(self._handlers.references[named.using], context, named.params)

    async def verify(self, context: Context) -> Verification:
        """The app's `verify`."""
        return _verification(await self._call(self._handlers.verify, context))

    async def teardown(self, context: Context) -> None:
        """The app's `teardown`."""
        await self._call(self._handlers.teardown, context)

    async def report_error(self, context: Context, error: Exception) -> str | None:
        """The app's `report_error`."""
        reporter = self._handlers.report_error
        if reporter is None:
            return None
        with acting_for(_identity(context)):
            diagnostic = await call(reporter, error, self._context(context))
        return None if diagnostic is None else str(diagnostic)

    async def _call(self, handler: Handler | None, context: Context, *more: Any) -> Any:
        if handler is None:
            return None
        with acting_for(_identity(context)):
            return await call(handler, self._context(context), *more)

    async def _ask_agent(self, context: Context, command: Command) -> Any:
        agent = self._handlers.agent
        if agent is None:
            raise RuntimeError("there is no agent to run; give Evals one, or do without run() in execute")
        return await call(agent, turn_of(context, command))

    def _context(self, context: Context, command: Command | None = None) -> RunContext:
        async def run(asked: Command) -> Any:
            return await self._ask_agent(context, asked)

        return RunContext(context, run, command)


def _identity(context: Context) -> Identity:
    return Identity(
        suite_id=context.suite.id,
        case_id=context.case.id,
        attempt_id=context.attempt_id,
        session_id=context.session_id,
        repetition=context.repetition,
        params=context.params,
    )


def _filter(function: Handler) -> Filter:
    def decide(item: dict[str, Any], params: Any) -> object:
        return function(*fitting(function, (item, params)))

    return decide


def _resume(given: Any) -> LiteralResume:
    if isinstance(given, str):
        return ResumeText(type="text", text=given)
    wanted = plain(given) if isinstance(given, dict) else given
    resume = _RESUME.validate_python(wanted, by_alias=True, by_name=False)
    if isinstance(resume, Named):
        raise TypeError("a responder answers itself and names no other")
    return resume  # type: ignore[no-any-return]


def _verification(given: Any) -> Verification:
    if isinstance(given, Verification):
        return given
    if isinstance(given, bool):
        return Verification(passed=given, reason=f"verify answered {str(given).lower()}.")
    if isinstance(given, dict):
        return Verification.of_wire(plain(given))
    raise TypeError(
        f"verify answers true, false or {{passed, reason, evidence?}}, not {type(given).__name__}"
    )
