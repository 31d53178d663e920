"""Posted results are scored by workers: once, charged once, whatever dies in between."""

from __future__ import annotations

from parley.server.llm.demo import Rule, Say
from tests.factories.datasets import make, make_dataset, post, result, start_run
from tests.stage import Stage


def rating(value: float, reasoning: str = "Because of what it says.") -> Say:
    """What a judge says when its rating is valid."""
    return Say(f'{{"reasoning": "{reasoning}", "rating": {value}}}', chunks=4)


async def test_posted_results_are_judged_and_completed(stage: Stage) -> None:
    stage.play(Rule((rating(8.5),), part="judge", contains="Answer 0."), Rule((rating(3),), part="judge"))
    run_id = await start_run(stage.http, await make_dataset(stage.http))
    async with stage.worker():
        posted = await post(stage.http, run_id, [result("q0"), result("q1", "No idea.")], wait=10)
        assert (posted["accepted"], posted["duplicates"], posted["failedValidation"]) == (2, 0, [])
        scored = {each["caseId"]: each for each in posted["scoredResults"]}
        assert {case: each["rating"] for case, each in scored.items()} == {"q0": 8.5, "q1": 3}
        assert (scored["q0"]["passed"], scored["q1"]["passed"]) == (True, False)
        ended = await make(stage.http, f"/runs/{run_id}/finalize", {})
    assert (ended["status"], ended["missingCases"]) == ("completed", [])
    assert ended["liveStatistics"]["averageRating"] == 5.75
