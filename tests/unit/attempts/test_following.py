"""What is written while a remote attempt is followed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from parley.engine.script.following import Followed
from parley.engine.script.protocol import EventPage
from parley.engine.script.record import AttemptRecord
from parley.engine.script.work import Stopping
from parley.sdk.evals import Evals, function_agent
from parley.server.apps.client import AppClient
from parley.server.attempts.playing import Playing
from parley.server.attempts.remote import following
from parley.server.attempts.remote.following import Following
from parley.server.attempts.remote.talking import RemoteRules, Talk
from parley.server.kit.clock import SystemClock
from tests.unit.sdk_evals.remote.stage import KEY, plan_of, served
from tests.unit.sdk_evals.stage import step, suite


class OneByOne:
    """An app that tells every event on a page of its own."""

    def __init__(self, page: EventPage) -> None:
        self._page = page

    async def events(self, _attempt_id: str, cursor: int, _wait_s: int) -> tuple[EventPage, int]:
        """The next event."""
        told = self._page.events[cursor : cursor + 1]
        return EventPage(events=told, cursor=cursor + 1, state="running"), 1


class Notes:
    """An attempt that notes what is written of it."""

    is_new = True

    def __init__(self) -> None:
        self.stopping = Stopping()
        self.written: list[AttemptRecord | None] = []

    async def keep(self, record: AttemptRecord | None = None, **_more: Any) -> None:
        """Notes it."""
        self.written.append(record)


async def test_record_is_written_again_only_with_a_new_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app that tells one large step and then thousands of trifles would fill the database's log."""
    monkeypatch.setattr(following, "BETWEEN_S", 0.0)
    evals = Evals(agent=function_agent(lambda text: text), suites=[suite(step(), step())])
    plan, clock, notes = plan_of(evals), SystemClock(), Notes()
    async with served(evals.asgi(service_key=KEY)) as service:
        await service.admit(plan)
        await service.follow(plan)
        page = await service.page("attempt-1")
    attempt = cast("Playing", notes)
    talk = Talk(cast("AppClient", OneByOne(page)), attempt, clock, RemoteRules(breath_s=0.0))

    record = await Following(talk, attempt, Followed(plan=plan), lambda *_: None, clock).to_its_end()

    assert record.status == "passed"
    assert len(notes.written) == len(page.events) - 1 > 3
    assert [len(one.steps) for one in notes.written if one] == [0, 1, 2]
