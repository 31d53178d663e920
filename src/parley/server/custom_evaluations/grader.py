"""Who grades: the grader of a run by content, and the judge that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from uuid import UUID

from parley.engine.grading.judge import NeverStopped
from parley.engine.grading.prompt import PROMPT_VERSION
from parley.engine.ports import Clock, Deadlines, Speaker
from parley.server.custom_evaluations.schemas import DEFAULT_PASS_RATING
from parley.server.definitions.offer import Offer
from parley.server.errors import InvalidRequest
from parley.server.evaluations.schemas import Regrade
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.pool import LlmPool
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import PROFILE_NAMES, ProfileName
from parley.server.queue.pokes import Poke
from parley.server.telemetry.watch import UNWATCHED, Watch

DEFAULT_PROFILE: Final[ProfileName] = "low"
"""The judge of runs whose settings name none."""


class JudgeGone(Exception):
    """The judge that a run was graded with is not on offer any longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedJudge:
    """A judge and what its tokens cost. `name` is what the account knows it by."""

    speaker: Speaker
    prices: Prices
    name: str | None = None


class Judges:
    """Makes judges out of what this process shares."""

    def __init__(
        self,
        pool: LlmPool,
        offer: Offer,
        clock: Clock,
        deadlines: Deadlines,
        watch: Watch = UNWATCHED,
    ) -> None:
        self._pool = pool
        self._offer = offer
        self._watch = watch
        self.clock = clock
        self.deadlines = deadlines

    def facts(self, judge: Mapping[str, Any]) -> dict[str, str]:
        """The judge as a grading names it, its llm included. Raises `InvalidRequest`, `LlmsNotConfigured`."""
        slug = judge.get("model")
        if slug is None:
            profile = cast("ProfileName", judge.get("profile", DEFAULT_PROFILE))
            return {"profile": profile, "llm": self._offer.profile_to_play(profile).judge.model}
        llm = self._offer.integrated.find(slug)
        if llm is None:
            raise InvalidRequest.field("judge.model", "is not an integrated llm on offer here")
        return {"model": slug, "llm": llm.endpoint.model}

    def judge(self, facts: Mapping[str, Any]) -> PricedJudge:
        """The judge that a grading names. Raises `JudgeGone`."""
        if "model" in facts:
            llm = self._offer.integrated.find(facts["model"])
            if llm is None:
                raise JudgeGone
            return self._seated(llm.endpoint, llm.prices, llm.slug)
        profile = facts.get("profile", DEFAULT_PROFILE)
        if profile not in PROFILE_NAMES or profile not in self._offer.playable:
            raise JudgeGone
        seat = self._offer.profiles[profile].judge
        endpoint = replace(seat.endpoint, model=facts.get("llm", seat.endpoint.model))
        return self._seated(endpoint, seat.prices)

    def _seated(self, endpoint: LlmEndpoint, prices: Prices, name: str | None = None) -> PricedJudge:
        speaker = self._pool.operator_speaker(endpoint)
        watched = self._watch.speaker(speaker, "judge", prices, NeverStopped())
        return PricedJudge(speaker=watched, prices=prices, name=name)


def grading_of(settings: Mapping[str, Any], criteria: Mapping[str, str], judge: Mapping[str, str]) -> Any:
    """The grader of a run by content: all that makes two runs graded alike, and nothing else."""
    wanted = {"criteria": settings["criteria"]} if settings.get("criteria") else {}
    return {
        "criteria": {**wanted, **criteria},
        "judge": dict(judge),
        "votes": settings.get("votes", 1),
        "checks": settings.get("checks", []),
        "pass_rating": settings.get("passRating", int(DEFAULT_PASS_RATING)),
        "prompt": PROMPT_VERSION,
    }


SCORING: Final = "scoring"
"""The name of the poke that wakes scorers."""


class CustomGrader:
    """What regrading borrows of this room."""

    def __init__(self, judges: Judges, poke: Poke) -> None:
        self._judges = judges
        self._poke = poke

    def changed(self, grading: Mapping[str, Any], changes: Regrade) -> dict[str, Any]:
        """The grading with the changes. Raises `InvalidRequest` for a judge that there is not."""
        if changes.case_criteria is not None:
            raise InvalidRequest.field("case_criteria", "is for suites; a dataset has one set of criteria")
        judge = self._judge(grading.get("judge", {}), changes)
        new = {**grading, "judge": judge, "prompt": PROMPT_VERSION}
        if changes.criteria is not None:
            new["criteria"] = criteria_told(grading) | {"criteria": changes.criteria}
        if changes.votes is not None:
            new["votes"] = changes.votes
        if changes.pass_rating is not None:
            new["pass_rating"] = float(changes.pass_rating)
        return new

    def _judge(self, before: Mapping[str, Any], changes: Regrade) -> dict[str, str]:
        named = named_judge(self._judges, changes)
        if named is not None:
            return named
        return dict(before) if "llm" in before else self._judges.facts(before)

    async def announce(self, evaluation_id: UUID) -> None:
        """Wake the scorers; without it they find the results at their next tick."""
        await self._poke.give()


def named_judge(judges: Judges, changes: Regrade) -> dict[str, str] | None:
    """The judge that a regrade names; None if it names none. Raises `InvalidRequest`, `LlmsNotConfigured`."""
    if changes.profile is not None and changes.llm is not None:
        raise InvalidRequest.field("llm", "stands instead of a profile; name one of the two")
    if changes.llm is not None:
        return judges.facts({"model": changes.llm})
    return None if changes.profile is None else judges.facts({"profile": changes.profile})


def criteria_told(grading: Mapping[str, Any]) -> dict[str, str]:
    """The criteria of a grading by their names."""
    criteria = grading.get("criteria") or {}
    return {"criteria": criteria} if isinstance(criteria, str) else dict(criteria)
