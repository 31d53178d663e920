"""Admission: an app is asked to play an attempt, at most once for all it can remember."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from parley.engine.script.draft import AttemptPlan
from parley.engine.script.protocol import PROTOCOL_VERSION, AttemptRequest
from parley.server.apps.faults import AppAway, AppRefused
from parley.server.attempts.keep import Held
from parley.server.attempts.remote import admissions
from parley.server.attempts.remote.offers import Offered
from parley.server.attempts.remote.talking import GaveUp, Talk
from parley.server.db.database import Database

T = TypeVar("T")

INSTANCE_CHANGED: Final = "instance_changed"
"""What an app says that does not remember what it was asked before."""


class CancelledBefore(Exception):
    """The attempt was cancelled before the app can have begun it."""


@dataclass(slots=True, kw_only=True)
class Asking:
    """One attempt's admission."""

    talk: Talk
    database: Database
    held: Held
    plan: AttemptPlan
    offered: Callable[[bool], Awaitable[Offered]]
    """What the app offers; read anew if that is asked for."""
    may_be_known: bool = False
    """Whether the app may know the attempt already."""

    async def admit(self) -> None:
        """Return once the app has it. Raises `GaveUp`, `CancelledBefore`, `AppFault`, `LeaseLost`."""
        before = await admissions.read(self.database, self.held)
        if before and before.is_admitted:
            return
        self.may_be_known = before is not None
        if self.talk.is_cancelled and not self.may_be_known:
            raise CancelledBefore
        instance = before.instance if before else await self._begin()
        try:
            await self._ask(instance)
        except AppRefused as refused:
            if refused.code != INSTANCE_CHANGED:
                raise
            if self.may_be_known:
                told = "The app was restarted while it was asked, and forgot whether it began the attempt."
                raise GaveUp("app_lost", told) from None
            await self._ask(await self._begin(anew=True))
        await admissions.admitted(self.database, self.held)

    async def _begin(self, *, anew: bool = False) -> str:
        """Be sure that the app offers what was frozen, and note that it is going to be asked."""
        offered = await self._patiently(lambda: self.offered(anew))
        refuse_others(offered, self.plan)
        await admissions.write(self.database, self.held, offered.instance)
        return offered.instance

    async def _ask(self, instance: str) -> None:
        request = _request(self.plan, instance)

        async def ask() -> None:
            try:
                await self.talk.client.admit(request)
            except AppAway as fault:
                self.may_be_known = self.may_be_known or fault.was_asked
                raise

        await self._patiently(ask)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self.talk.persistently(
                call,
                away="retrying",
                most_s=self.talk.rules.full_s,
                gives_up=lambda: self.talk.is_cancelled and not self.may_be_known,
            )
        except AppAway:
            raise CancelledBefore from None


def refuse_others(offered: Offered, plan: AttemptPlan) -> None:
    """Raise `GaveUp` for an app that would play or judge otherwise than was frozen."""
    revision = offered.revisions.get(plan.suite.id)
    if revision is None:
        raise GaveUp("app_refused", f"The app has no suite {plan.suite.id!r} any more.")
    if revision != plan.revision:
        raise GaveUp(
            "app_refused",
            f"The app has revision {revision[:12]} of the suite, the evaluation was begun with "
            f"{plan.revision[:12]}: take the suite over again.",
        )
    wanted = plan.judge
    if wanted and wanted.location == "app" and offered.judge != wanted:
        found = offered.judge
        told = "none" if found is None else f"{found.id} ({found.version_hash[:12]})"
        raise GaveUp(
            "app_refused",
            f"The evaluation is pinned to the judge {wanted.id} ({wanted.version_hash[:12]}); "
            f"the app's is {told}.",
        )


def _request(plan: AttemptPlan, instance: str) -> AttemptRequest:
    return AttemptRequest(
        protocol_version=PROTOCOL_VERSION,
        instance=instance,
        attempt_id=plan.attempt_id,
        session_id=plan.session_id,
        suite_id=plan.suite.id,
        suite_revision=plan.revision,
        case_id=plan.case.id,
        repetition=plan.repetition,
        judge=plan.judge,
    )
