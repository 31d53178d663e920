"""What somebody at a terminal sees of a run."""

from __future__ import annotations

import io

from rich.console import Console

from parley.sdk.evals import Evals, Progress, function_agent
from parley.sdk.evals.live import LiveRun
from tests.unit.sdk_evals.stage import Lenient, step, suite


async def seen(*, is_terminal: bool, until: str = "run-completed") -> str:
    """What a console shows up to the first event of a type."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=100, color_system=None)
    evals = Evals(
        agent=function_agent(lambda text: f"[bold]{text}"),
        suites=[suite(step("a [b]", criteria=["x"]), step("c", text={"contains": ["d [e]"]}))],
        judge=Lenient(),
    )
    heard: list[Progress] = []
    await evals.run(on_progress=heard.append)
    with LiveRun(console) as live:
        for event in heard:
            live.hear(event)
            if event.type == until:
                break
    return out.getvalue()


async def test_plain_output_has_a_line_for_what_ended_and_its_reasons() -> None:
    first, second = (await seen(is_terminal=False)).splitlines()
    assert first.startswith("✗ failed s/c #1 ")
    assert second.strip() == "step 2, text.contains[0]: 'd [e]' does not stand in the text."


async def test_terminal_shows_what_is_under_way_and_takes_it_away_again() -> None:
    half = await seen(is_terminal=True, until="step-completed")
    assert "c #1  step 2/2  grading" in half
    assert "✗" not in half
    whole = await seen(is_terminal=True)
    assert "✗ failed s/c #1" in whole
    assert "step 2/2" not in whole.rpartition("✗")[2]
