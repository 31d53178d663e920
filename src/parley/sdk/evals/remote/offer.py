"""What an `Evals` lends to its remote route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from parley.engine.script.attempt import Surroundings
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.ports import Judge
from parley.engine.script.protocol import AttemptRequest, RouteError
from parley.engine.script.record import JudgeIdentity, Location, Provenance
from parley.engine.script.revision import effective_evidence
from parley.engine.script.shapes import Case, Evidence, Suite
from parley.engine.script.work import Stopping
from parley.sdk.errors import NotConfigured, ParleyError
from parley.sdk.evals.errors import EvalsMisconfigured


class Refusal(Exception):
    """An attempt that is not played here. `code` and `message` are told to the service."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error = RouteError(code=code, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Suites by id, and how one attempt at them is surrounded.

    `judges` gives the judge that an identity may mean; it raises `ParleyError`.
    """

    suites: Mapping[str, Suite]
    revisions: Mapping[str, str]
    """Of the suites, by their ids: worked out once, since large ones take a while."""
    defaults: Evidence
    provenance: Provenance
    describe: Callable[[], Mapping[str, Any]]
    around: Callable[[Judge | None, Stopping], Surroundings]
    judges: Callable[[JudgeIdentity], Any]

    def plan_of(self, request: AttemptRequest) -> AttemptPlan:
        """What is to be played. Raises `Refusal` unless it is what the service froze."""
        suite = self.suites.get(request.suite_id)
        if suite is None:
            raise Refusal("suite_unknown", f"The app has no suite {request.suite_id!r}.")
        revision = self.revisions[suite.id]
        if revision != request.suite_revision:
            raise Refusal(
                "suite_changed",
                f"The app has revision {revision[:12]} of suite {suite.id!r}, not "
                f"{request.suite_revision[:12]}: take the suite over again.",
            )
        case = _case(suite, request.case_id)
        if request.judge is None and any(step.expect.criteria for step in case.steps):
            raise Refusal("judge_missing", f"Case {case.id!r} has criteria, and no judge was named.")
        return AttemptPlan(
            suite=suite,
            case=case,
            revision=revision,
            evidence=effective_evidence(suite, self.defaults),
            attempt_id=request.attempt_id,
            session_id=request.session_id,
            repetition=request.repetition,
            judge=request.judge,
            provenance=self.provenance,
        )


class Judges:
    """The judges of a route, kept for all its attempts."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._kept: dict[tuple[Location, str], Any] = {}

    async def pinned(self, wanted: JudgeIdentity | None) -> Any:
        """The judge that is wanted, and no other. Raises `Refusal`."""
        if wanted is None:
            return None
        try:
            judge = self._like(wanted)
            if hasattr(judge, "prepare"):
                await judge.prepare()
        except (EvalsMisconfigured, NotConfigured) as error:
            raise Refusal("judge_missing", str(error)) from error
        except ParleyError as error:
            raise Refusal("judge_unreachable", f"The judge could not be asked who it is. {error}") from error
        found: JudgeIdentity = judge.identity
        if found != wanted:
            raise Refusal(
                "judge_mismatch",
                f"The attempt is pinned to the judge {wanted.id} ({wanted.version_hash[:12]}, "
                f"{wanted.location}); this is {found.id} ({found.version_hash[:12]}, {found.location}).",
            )
        return judge

    async def close(self) -> None:
        """Give back what they hold."""
        kept, self._kept = self._kept, {}
        for judge in kept.values():
            if hasattr(judge, "close"):
                await judge.close()

    def _like(self, wanted: JudgeIdentity) -> Any:
        place = (wanted.location, wanted.id)
        if place not in self._kept:
            judge = self._offer.judges(wanted)
            if judge is None:
                raise EvalsMisconfigured("The app has no judge: Evals(judge=...).")
            self._kept[place] = judge
        return self._kept[place]


def _case(suite: Suite, case_id: str) -> Case:
    try:
        return suite.case(case_id)
    except LookupError:
        raise Refusal("case_unknown", f"Suite {suite.id!r} has no case {case_id!r}.") from None
