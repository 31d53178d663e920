"""Statements per turn, counted between our processes and Postgres."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.hotpath.figures import Figure
from scripts.hotpath.ground import Ground
from scripts.hotpath.listener import StatementListener
from scripts.hotpath.load import Load
from scripts.hotpath.plan import STATEMENTS_TARGET
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.subjects import service

_LOAD = Load(conversations=16, at_once=16, turns=10)


def statements(ground: Ground, llms: ScriptedLlms) -> Iterator[Figure]:
    """All statements of direct evaluations and of runs, from their start to their end, per turn."""
    with (
        StatementListener(ground.database_url) as listener,
        service(ground, llms, _LOAD.at_once, listener.url) as running,
    ):
        tenants = running.tenants(_LOAD.turns)
        for name, measure in (("direct", running.direct), ("persisted", running.persisted)):
            llms.pace()
            listener.counts.clear()
            measure(tenants, _LOAD)
            told = dict(listener.counts.most_common())
            yield Figure(
                measure=f"statements per turn, {name}",
                case=f"{_LOAD.conversations} of {_LOAD.turns} turns",
                result=sum(told.values()) / _LOAD.all_turns,
                unit="",
                target=STATEMENTS_TARGET,
                beside={f"{count} x": statement for statement, count in told.items()},
            )
