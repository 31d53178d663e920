"""CPU time, memory and wall of ours beside the bare client's, taken in turn in the same run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from statistics import median

from scripts.hotpath.figures import Figure
from scripts.hotpath.ground import Ground
from scripts.hotpath.house import Tenant
from scripts.hotpath.load import Load
from scripts.hotpath.plan import CALL_MS, MEMORY_TARGET_KB, TARGETS, WALL_TARGETS, Cell, Plan
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.subjects import Service, Taken, bare, service
from scripts.hotpath.talk import CALLS_PER_TURN, CHUNKS_PER_CALL

Rounds = list[dict[str, Taken]]


class Comparison:
    """Measures `wanted` of engine, direct and persisted, each round beside the floor."""

    def __init__(self, ground: Ground, llms: ScriptedLlms, plan: Plan, wanted: Iterable[str]) -> None:
        self._ground = ground
        self._llms = llms
        self._plan = plan
        self._wanted = [name for name in TARGETS if name in set(wanted)]

    def cells(self) -> Iterator[Figure]:
        """The figures of the four situations."""
        for cell in self._plan.cells():
            rounds = [self._round(cell) for _ in range(self._plan.rounds)]
            for name in self._wanted:
                yield _cpu_figure(name, cell, rounds)
                if cell.load.at_once == 200:
                    yield _memory_figure(name, cell, rounds)
            if "direct" in self._wanted and cell.gap_ms:
                yield _chunk_figure(cell, rounds)

    def wall(self) -> Iterator[Figure]:
        """The figures of 200 conversations with slow llms."""
        load = self._plan.wall_load()
        rounds = [self._wall_round(load) for _ in range(self._plan.wall_rounds)]
        for name, target in WALL_TARGETS.items():
            yield _wall_figure(name, load, rounds, target)

    def _round(self, cell: Cell) -> dict[str, Taken]:
        taken: dict[str, Taken] = {}
        with self._service_for(self._wanted, cell.load) as running:
            tenants = running.tenants(cell.load.turns) if running else []
            for name in ("floor", *self._wanted):
                self._llms.pace(gap_ms=cell.gap_ms)
                taken[name] = self._take(name, running, tenants, cell.load)
        return taken

    def _wall_round(self, load: Load) -> dict[str, Taken]:
        taken: dict[str, Taken] = {}
        with service(self._ground, self._llms, load.at_once) as running:
            tenants = running.tenants(load.turns)
            for name in ("floor", *WALL_TARGETS):
                self._llms.pace(latency_ms=CALL_MS)
                taken[name] = self._take(name, running, tenants, load)
        return taken

    def _take(self, name: str, running: Service | None, tenants: list[Tenant], load: Load) -> Taken:
        if name in ("floor", "engine"):
            return bare(name, self._llms, load)
        assert running is not None, "direct and persisted need the service"
        return running.direct(tenants, load) if name == "direct" else running.persisted(tenants, load)

    @contextlib.contextmanager
    def _service_for(self, wanted: Iterable[str], load: Load) -> Iterator[Service | None]:
        if set(wanted) <= {"engine"}:
            yield None
            return
        with service(self._ground, self._llms, load.at_once) as running:
            yield running


def _cpu_ms(taken: Taken, load: Load) -> float:
    return taken.spending.cpu_s * 1000 / load.all_turns


def _cpu_figure(name: str, cell: Cell, rounds: Rounds) -> Figure:
    ratios = [one[name].spending.cpu_s / one["floor"].spending.cpu_s for one in rounds]
    beside: dict[str, str] = {"rounds": " ".join(f"{ratio:.2f}" for ratio in ratios)}
    for server in rounds[0][name].beside:
        beside[server] = f"{median(one[name].beside[server] for one in rounds):.2f} ms/turn"
    return Figure(
        measure=f"CPU per turn, {name}",
        case=cell.name,
        ours=f"{median(_cpu_ms(one[name], cell.load) for one in rounds):.2f} ms",
        floor=f"{median(_cpu_ms(one['floor'], cell.load) for one in rounds):.2f} ms",
        result=median(ratios),
        unit="x",
        target=TARGETS[name],
        beside=beside,
    )


def _memory_figure(name: str, cell: Cell, rounds: Rounds) -> Figure:
    def kb(taken: Taken) -> float:
        return taken.spending.grown_kb / cell.load.at_once

    return Figure(
        measure=f"memory per conversation, {name}",
        case=cell.name,
        floor=f"{median(kb(one['floor']) for one in rounds):.0f} kB",
        result=median(kb(one[name]) for one in rounds),
        unit="kB",
        target=MEMORY_TARGET_KB,
    )


def _chunk_figure(cell: Cell, rounds: Rounds) -> Figure:
    chunks = CALLS_PER_TURN * CHUNKS_PER_CALL

    def us(taken: Taken) -> float:
        return _cpu_ms(taken, cell.load) * 1000 / chunks

    return Figure(
        measure="CPU per chunk, socket to SSE",
        case=cell.name,
        floor=f"{median(us(one['floor']) for one in rounds):.0f} us",
        result=median(us(one["direct"]) for one in rounds),
        unit="us",
    )


def _wall_figure(name: str, load: Load, rounds: Rounds, target: float) -> Figure:
    ratios = [one[name].spending.wall_s / one["floor"].spending.wall_s for one in rounds]
    ideal_s = load.turns * CALLS_PER_TURN * CALL_MS / 1000
    return Figure(
        measure=f"wall, {name}",
        case=f"{load.at_once}, 300 ms a call",
        ours=f"{median(one[name].spending.wall_s for one in rounds):.2f} s",
        floor=f"{median(one['floor'].spending.wall_s for one in rounds):.2f} s",
        result=median(ratios),
        unit="x",
        target=target,
        beside={"rounds": " ".join(f"{ratio:.2f}" for ratio in ratios), "calls alone": f"{ideal_s:g} s"},
    )
