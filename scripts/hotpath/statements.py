"""Statements per turn, counted between our processes and Postgres."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from scripts.hotpath.figures import Figure
from scripts.hotpath.ground import Ground
from scripts.hotpath.listener import StatementListener
from scripts.hotpath.load import Load
from scripts.hotpath.plan import STATEMENTS_TARGET
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.subjects import service

_REACTED_S = 2.0
"""After which all ends have been reacted to: those of the warm-up do not count, those of the load do."""
_LOAD = Load(conversations=16, at_once=16, turns=10)


def statements(ground: Ground, llms: ScriptedLlms) -> Iterator[Figure]:
    """All statements of the process that holds the conversations, ticks included, per turn.

    That is the API's for direct evaluations and the worker's for runs; what the API says to start the
    runs stands beside.
    """
    url = ground.database_url
    with (
        StatementListener(url) as api,
        StatementListener(url) as worker,
        service(ground, llms, _LOAD.at_once, (api.url, worker.url)) as running,
    ):
        tenants = running.tenants(_LOAD.turns)
        llms.pace()
        api.counts.clear()
        running.direct(tenants, _LOAD)
        yield _figure("direct", api.counts)
        llms.pace()
        time.sleep(_REACTED_S)
        api.counts.clear()
        worker.counts.clear()
        running.persisted(tenants, _LOAD)
        time.sleep(_REACTED_S)
        started = sum(api.counts.values()) / _LOAD.conversations
        yield _figure("persisted", worker.counts, {"of the API to start a run": f"{started:.1f}"})


def _figure(name: str, counts: Counter[str], beside: Mapping[str, str] = MappingProxyType({})) -> Figure:
    told = {f"[{statement}]": f"{count} x" for statement, count in counts.most_common()}
    return Figure(
        measure=f"statements per turn, {name}",
        case=f"{_LOAD.conversations} of {_LOAD.turns} turns",
        result=sum(counts.values()) / _LOAD.all_turns,
        unit="",
        target=STATEMENTS_TARGET,
        beside={**beside, **told},
    )
