"""The demo's stories: they end as they should, whatever the form of the prompts."""

from decimal import Decimal
from html import escape
from itertools import pairwise

import orjson
import pytest

from parley.server.llm.demo import CallTool, Say
from parley.server.llm.demo.acting import SIGNATURE_LENGTH, acted
from parley.server.llm.demo.request import read_request
from parley.server.llm.demo.stories import (
    PARCEL,
    REFUND,
    RETURN,
    SMALL_TALK,
    STORIES,
    Story,
    definition_bodies,
    gateway_body,
)


def said_by(llm: str, *lines: tuple[str, str]) -> Say | CallTool:
    messages = [{"role": role, "content": text} for role, text in lines]
    behaviour = acted(read_request(orjson.dumps({"model": llm, "messages": messages}), {}))
    assert isinstance(behaviour, Say | CallTool)
    return behaviour


def talk(story: Story, turns: int) -> list[tuple[str, str]]:
    """The gateway's history after so many whole turns."""
    lines: list[tuple[str, str]] = []
    for exchange in story.exchanges[:turns]:
        lines += [("user", exchange.customer), ("assistant", exchange.shop)]
    return lines


def verdict(story: Story) -> tuple[str, int]:
    """Outcome and turn by the contract's arithmetic, at thresholds 0.2 and 0.9."""
    delta, streak = Decimal("0.5"), 0
    for turn in range(1, story.max_turns + 1):
        score = Decimal(str(story.exchange(turn).score))
        delta = min(Decimal(1), max(Decimal(0), delta + (2 * score - 1) / 2))
        streak = streak + 1 if score <= Decimal("0.2") and delta <= Decimal("0.2") else 0
        if score >= Decimal("0.9"):
            return "success", turn
        if streak == 2:
            return "loss", turn
    return "incomplete", story.max_turns


@pytest.mark.parametrize(
    ("story", "outcome"), [(RETURN, ("success", 3)), (REFUND, ("loss", 4)), (PARCEL, ("incomplete", 5))]
)
def test_story_ends_as_told(story: Story, outcome: tuple[str, int]) -> None:
    assert verdict(story) == outcome
    assert len(story.exchanges) == outcome[1]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_shop_knows_the_story_by_the_first_user_message(story: Story) -> None:
    for turn, exchange in enumerate(story.exchanges, start=1):
        history = [*talk(story, turn - 1), ("user", exchange.customer)]
        if exchange.lookup:
            assert isinstance(said_by("demo-shop", *history), CallTool)
            history += [("assistant", exchange.lookup.said_before), ("tool", exchange.lookup.result)]
        assert said_by("demo-shop", *history) == Say(exchange.shop)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_customer_knows_the_story_by_the_goal_and_thinks_before_it_speaks(story: Story) -> None:
    prompt = ("system", f"You are a customer. <goal>{story.goal}</goal>")
    first = said_by("demo-user", prompt, ("user", "Begin."))
    second = said_by("demo-user", prompt, ("assistant", first.text), ("user", story.exchanges[0].shop))
    assert (first.text, second.text) == (story.exchanges[0].customer, story.exchanges[1].customer)
    assert isinstance(first, Say)
    assert first.reasoning


@pytest.mark.parametrize("form", ["plain", "json", "html"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_judge_finds_its_turn_in_any_form_of_transcript(story: Story, form: str) -> None:
    for turn, exchange in enumerate(story.exchanges, start=1):
        lines = talk(story, turn)
        transcript = {
            "plain": "\n".join(text for _, text in lines),
            "json": orjson.dumps(lines).decode(),
            "html": "\n".join(f"<line>{escape(text)}</line>" for _, text in lines),
        }[form]
        said = said_by("demo-judge", ("system", story.goal), ("user", f"Turn 64.\n{transcript}"))
        assert orjson.loads(said.text)["score"] == exchange.score


def test_signatures_are_unlike_and_need_no_escaping() -> None:
    for story in (*STORIES, SMALL_TALK):
        signatures = [exchange.shop[:SIGNATURE_LENGTH] for exchange in story.exchanges]
        assert len(set(signatures)) == len(signatures)
        for text in (*signatures, story.goal):
            assert text.isascii()
            assert not set(text) & set("\"'<>&\\\n")


def test_signs_tell_the_stories_apart() -> None:
    for story in STORIES:
        assert story.sign in story.exchanges[0].customer.casefold()
        assert sum(other.sign in story.exchanges[0].customer.casefold() for other in STORIES) == 1


def test_conversations_off_the_stories_go_on_without_repeating_a_line() -> None:
    said = [SMALL_TALK.exchange(turn).customer for turn in range(1, 12)]
    assert all(one != other for one, other in pairwise(said))


def test_definitions_hold_what_the_stories_need() -> None:
    bodies = definition_bodies("demo-shop:ab12")
    assert [body["max_turns"] for body in bodies] == [8, 8, 5]
    assert [mock["match"] for body in bodies for mock in body["tool_mocks"]] == [{"order_number": "1042"}]
    assert {body["gateway"] for body in bodies} == {"demo-shop:ab12"}
    assert gateway_body("http://127.0.0.1:1/v1")["tools"][0]["function"]["name"] == "lookup_order"
