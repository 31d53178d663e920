from __future__ import annotations

from collections.abc import Sequence

from parley.engine.chat.pieces import Usage
from parley.engine.fakes import Reply, ScriptedSpeaker, StillClock, fails, refuses, says
from parley.engine.grading.evidence import Asked, Evidence
from parley.engine.grading.judge import RatingJudge
from parley.engine.grading.rating import Vote
from parley.engine.ports import Deadlines

EVIDENCE = Evidence(questions=(Asked(query="How?"),), answer="Like that.")
USED = Usage(model="judge", prompt_tokens=10, completion_tokens=5)
GOOD = says('{"reasoning": "Good.", "rating": 8}', usage=USED)


async def asked(*replies: Reply, votes: int = 1) -> tuple[Vote, Sequence[Usage], ScriptedSpeaker, StillClock]:
    speaker, clock, spent = ScriptedSpeaker(replies), StillClock(), list[Usage]()
    judge = RatingJudge(speaker, clock, Deadlines(), spent.append)
    counting, _ = await judge.rate(EVIDENCE, votes, "seed")
    return counting, spent, speaker, clock


async def test_good_reply_is_one_attempt() -> None:
    vote, spent, _, _ = await asked(GOOD)
    assert vote.opinion is not None
    assert vote.opinion.score == 8
    assert spent == [USED]


async def test_unreadable_reply_is_asked_again_with_its_problem() -> None:
    vote, spent, speaker, _ = await asked(says("Eight."), GOOD)
    assert vote.opinion is not None
    assert len(spent) == 2
    assert "Your last reply could not be used" in speaker.asked[1].text


async def test_three_attempts_and_no_more() -> None:
    for replies in ([refuses("No.")] * 3, [says("Eight.")] * 3, [fails("http_error")] * 3):
        vote, _, speaker, _ = await asked(*replies)
        assert vote.opinion is None
        assert len(speaker.asked) == 3


async def test_fault_that_passes_is_waited_out_and_one_that_does_not_ends_it() -> None:
    vote, _, _, _ = await asked(fails("rate_limited", retry_after_s=5), GOOD)
    assert vote.opinion is not None
    vote, _, speaker, _ = await asked(fails("http_error", retryable=False, status=401))
    assert (vote.opinion, vote.code, len(speaker.asked)) == (None, "http_error", 1)


async def test_schema_that_is_refused_is_left_out() -> None:
    vote, _, speaker, _ = await asked(fails("request_refused", retryable=False, status=400), GOOD)
    assert vote.opinion is not None
    assert [asked.options.response_schema is None for asked in speaker.asked] == [False, True]


async def test_attempt_that_broke_off_costs_what_it_used() -> None:
    _, spent, _, _ = await asked(fails("stream_cut", "Half an ans", usage=USED), GOOD)
    assert spent == [USED, USED]
