"""Rules, their counters, and their way through JSON."""

import orjson
import pytest
from pydantic import ValidationError

from parley.server.llm.demo import (
    Call,
    CallTool,
    Chunks,
    Cut,
    ErrorFrame,
    Flood,
    Framing,
    Hang,
    Html,
    Raw,
    Refuse,
    Rule,
    Say,
    Script,
    Status,
    opinion,
    script_json,
)
from parley.server.llm.demo.request import ChatRequest, read_request
from parley.server.llm.demo.script import SCRIPT, Prompter


def request(llm: str = "shop", users: int = 1, text: str = "hi") -> ChatRequest:
    messages = [{"role": "user", "content": text}] * users
    return read_request(orjson.dumps({"model": llm, "messages": messages}), {})


def test_first_call_fails_and_later_ones_work() -> None:
    prompter = Prompter(Script((Rule((Status(500), Say("ok"))),)))
    chosen = [prompter.choose(request()) for _ in range(3)]
    assert chosen == [Status(500), Say("ok"), Say("ok")]


def test_rule_stands_aside_after_its_times() -> None:
    prompter = Prompter(Script((Rule((Hang(),), times=1), Rule((Say("ok"),), llm="sh*"))))
    assert prompter.choose(request()) == Hang()
    assert prompter.choose(request()) == Say("ok")
    assert prompter.choose(request("other")) is None


def test_every_condition_must_hold() -> None:
    rule = Rule((Say("x"),), llm="shop*", part="assistant", turn=2, contains="refund")
    assert rule.fits(request("shop-1", users=2, text="my refund"))
    assert not rule.fits(request("shop-1", users=1, text="my refund"))
    assert not rule.fits(request("shop-1", users=2, text="my parcel"))
    assert not rule.fits(request("shop-user", users=2, text="my refund"))
    assert not rule.fits(request("other", users=2, text="my refund"))


def test_after_tool_tells_tool_rounds_apart() -> None:
    lines = [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"}]
    after = read_request(orjson.dumps({"model": "shop", "messages": lines}), {})
    rule = Rule((Say("x"),), after_tool=True)
    assert rule.fits(after)
    assert not rule.fits(request())


def test_rule_without_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Rule(())
    with pytest.raises(ValidationError, match="at least one"):
        SCRIPT.validate_json(b'{"rules": [{"answers": []}]}')


def test_every_behaviour_survives_its_json() -> None:
    framing = Framing(newline="\r\n", write_bytes=3)
    rule = Rule(
        (
            Say("a b", chunks=("a", " b"), reasoning="r", usage={"prompt_tokens": 1}, framing=framing),
            Refuse("no"),
            CallTool("f", "{}", also=(Call("g"),)),
            Chunks(({"choices": []},), finish=None),
            Raw(b"\xff\x00", ending="reset"),
            Status(429, {"retry-after": "1"}, "slow"),
            Hang(2, comment_every_ms=5),
            Cut(1, ending="finish"),
            Html(),
            ErrorFrame(named=True),
            Flood(10, 5),
        ),
        llm="x*",
        times=3,
    )
    assert SCRIPT.validate_json(script_json(rule)) == Script((rule,))


def test_opinion_is_the_judges_json() -> None:
    assert orjson.loads(opinion(0.25, "so so").text) == {"reasoning": "so so", "score": 0.25}
