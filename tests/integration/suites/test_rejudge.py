"""Conversations of a suite judged again: by another judge, or by other criteria."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.server.llm.demo import Rule, opinion
from tests.integration.suites.scene import EVALUATIONS, begin, ended, make_suite, make_tests, plays, results
from tests.stage import Stage

STRICT = "Only a written apology will do."


def strict_plays() -> tuple[Rule, ...]:
    """As `plays`, with a judge that hardens where the criteria are strict."""
    return (Rule((opinion(0.3, "No apology."),), part="judge", contains=STRICT), *plays())


async def regrade(stage: Stage, evaluation_id: str, **body: Any) -> str:
    answer = await stage.http.post(f"{EVALUATIONS}/{evaluation_id}/regrade", json=body)
    assert answer.status_code == 202, answer.text
    made: str = answer.json()["data"]["id"]
    return made


async def flips_of(stage: Stage, evaluation_id: str) -> list[dict[str, Any]]:
    answer = await stage.http.get(f"{EVALUATIONS}/{evaluation_id}/flips")
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


async def test_kept_conversations_are_judged_by_other_criteria_and_charged(stage: Stage) -> None:
    stage.play(*strict_plays())
    tests = await make_tests(stage, "Win a refund.", "Win a lamp.", "BREAK the lamp.")
    async with stage.worker():
        former = await ended(stage, await begin(stage, await make_suite(stage, tests)))
        asked = len(stage.llms.requests)
        made = await regrade(stage, former["id"], case_criteria={tests[0]: STRICT})
        now = await ended(stage, made)
    assert (now["state"], now["regrade_of"]) == ("completed", former["id"])
    told = {each["case_id"]: each for each in await results(stage, made)}
    assert [told[test]["passed"] for test in tests] == [False, True, False]
    assert (told[tests[2]]["status"], told[tests[2]]["rating"]) == ("failed", 0), "it comes over as it was"
    assert told[tests[0]]["justification"] == "No apology."
    [flip] = await flips_of(stage, made)
    assert (flip["case_id"], flip["was"], flip["is"]) == (tests[0], "passed", "not passed")
    again = list(stage.llms.requests)[asked:]
    assert len(again) == 2, "the judge alone is asked, once for each conversation"
    lines = await stage.rows("SELECT * FROM ledger WHERE source = 'evaluation'")
    assert [line["role"] for line in lines] == ["judge", "judge"]
    assert 0 < -float(sum(line["amount"] for line in lines)) == now["cost"]
    assert (await stage.read(f"{EVALUATIONS}/{former['id']}"))["statistics"] == former["statistics"]


async def test_words_that_are_gone_are_skipped_and_what_means_nothing_is_refused(stage: Stage) -> None:
    stage.play(*plays())
    tests = await make_tests(stage, "Win a refund.", "Win a lamp.")
    async with stage.worker():
        former = await ended(stage, await begin(stage, await make_suite(stage, tests)))
        async with stage.services.database.raw() as connection:
            await connection.execute("DELETE FROM runs WHERE test_id = $1", UUID(tests[0]))
        made = await regrade(stage, former["id"])
        await ended(stage, made)
    told = {each["case_id"]: each for each in await results(stage, made)}
    assert (told[tests[0]]["status"], told[tests[0]]["error"]["type"]) == ("skipped", "no_transcript")
    assert told[tests[1]]["passed"] is True
    for name, value in (("votes", 3), ("pass_rating", 7)):
        answer = await stage.http.post(f"{EVALUATIONS}/{former['id']}/regrade", json={name: value})
        assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, name)
