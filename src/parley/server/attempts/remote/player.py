"""Plays attempts by having a remote app play them; survives restarts of both sides."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from uuid import UUID

from aiohttp import ClientSession

from parley.engine.ports import Clock
from parley.engine.script.attempt import Tell
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.following import Followed, Misbehaved
from parley.engine.script.record import AttemptRecord, ErrorRecord
from parley.server.apps.client import AppClient
from parley.server.apps.faults import AppFault, AppMisbehaved, AppRefused
from parley.server.apps.vault import AppVault
from parley.server.attempts.end import not_begun
from parley.server.attempts.playing import Playing
from parley.server.attempts.remote.asking import Asking, CancelledBefore
from parley.server.attempts.remote.following import Following
from parley.server.attempts.remote.offers import Offers
from parley.server.attempts.remote.talking import GaveUp, RemoteRules, Talk
from parley.server.db.database import Database

MAX_MESSAGE_CHARS: Final = 2_000
"""Of an error's message: what an app says is its own."""


class RemotePlayer:
    """`attempts.ports.Player` for targets of the type `app`."""

    resumes = True

    def __init__(
        self,
        database: Database,
        vault: AppVault,
        calls: ClientSession,
        clock: Clock,
        rules: RemoteRules | None = None,
    ) -> None:
        self._database = database
        self._vault = vault
        self._calls = calls
        self._clock = clock
        self._rules = rules or RemoteRules()
        self._offers = Offers(clock)

    async def play(self, attempt: Playing, plan: AttemptPlan, tell: Tell) -> AttemptRecord:
        """As the port says."""
        followed = _followed(attempt, plan)
        held = attempt.work.held
        app_id = UUID(attempt.work.target["app"]["id"])
        address = await self._vault.address_of(held.account_id, app_id)
        if address is None:
            return self._ended(followed, "app_refused", "The app was deleted.")
        client = AppClient(self._calls, address, call_s=self._rules.call_s)
        talk = Talk(client, attempt, self._clock, self._rules)
        asking = Asking(
            talk=talk,
            database=self._database,
            held=held,
            plan=plan,
            offered=lambda anew: self._offers.of(address, client, anew=anew),
        )
        try:
            await asking.admit()
            return await Following(talk, attempt, followed, tell, self._clock).to_its_end()
        except CancelledBefore:
            return not_begun(plan, self._clock)
        except GaveUp as gave_up:
            await _leave(talk, plan)
            return self._ended(followed, gave_up.code, str(gave_up))
        except AppRefused as refused:
            return self._ended(
                followed, "app_refused", f"The app refused: {refused.message} ({refused.code})"
            )
        except AppMisbehaved as fault:
            await _leave(talk, plan)
            return self._ended(followed, "app_unreadable", fault.message)
        except Misbehaved as fault:
            await _leave(talk, plan)
            told = f"What the app told cannot have come of playing the attempt: {fault.problem}."
            return self._ended(followed, "app_unreadable", told)

    def _ended(self, followed: Followed, code: str, message: str) -> AttemptRecord:
        """An error, with the evidence that was heard."""
        error = ErrorRecord(phase="execute", code=code, message=message[:MAX_MESSAGE_CHARS])
        return followed.broken_off(error, self._clock.now_ms())


def _followed(attempt: Playing, plan: AttemptPlan) -> Followed:
    """What was heard of the attempt so far, by whichever worker."""
    work = attempt.work
    if work.record is None:
        return Followed(plan=plan, cursor=work.cursor)
    return Followed(
        plan=plan,
        cursor=work.cursor,
        started_at=work.record.started_at,
        steps=list(work.record.steps),
    )


async def _leave(talk: Talk, plan: AttemptPlan) -> None:
    """Tell the app once that nobody follows any more, so that it does not go on for nothing."""
    with suppress(AppFault):
        await talk.client.cancel(plan.attempt_id)
