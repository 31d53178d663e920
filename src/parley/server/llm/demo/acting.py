"""How the demo's three llms find out which story they are in, and say its lines."""

from __future__ import annotations

import orjson

from parley.server.llm.demo.behaviours import Behaviour, CallTool, Say
from parley.server.llm.demo.rating import rated, rates
from parley.server.llm.demo.request import ChatRequest
from parley.server.llm.demo.script import opinion
from parley.server.llm.demo.stories import JUDGE_LLM, SHOP_LLM, SMALL_TALK, STORIES, USER_LLM, Story
from parley.server.llm.demo.verdicts import decided, decides

SIGNATURE_LENGTH = 24
"""Characters at the beginning of a line that tell it from all others of its story."""


def acted(request: ChatRequest) -> Behaviour | None:
    """The line of one of the demo's llms; None for any other llm."""
    match request.llm:
        case name if name == USER_LLM:
            return _customer(_story_by_goal(request), request.turn)
        case name if name == SHOP_LLM:
            return _shop(_story_by_opening(request), request)
        case name if name == JUDGE_LLM and decides(request):
            return decided(request)
        case name if name == JUDGE_LLM and rates(request):
            return rated(request)
        case name if name == JUDGE_LLM:
            return _judge(_story_by_goal(request), request)
    return None


def _story_by_goal(request: ChatRequest) -> Story:
    """User and judge have the goal in their prompt."""
    return next((story for story in STORIES if story.goal in request.text), SMALL_TALK)


def _story_by_opening(request: ChatRequest) -> Story:
    """The gateway sees the conversation alone."""
    opening = request.first_user_text.casefold()
    return next((story for story in STORIES if story.sign in opening), SMALL_TALK)


def _customer(story: Story, turn: int) -> Behaviour:
    exchange = story.exchange(turn)
    return Say(exchange.customer, reasoning=exchange.thought)


def _shop(story: Story, request: ChatRequest) -> Behaviour:
    exchange = story.exchange(request.turn)
    lookup = exchange.lookup
    if lookup is None or request.answers_tool:
        return Say(exchange.shop)
    arguments = orjson.dumps({"order_number": lookup.order_number}).decode()
    return CallTool(
        "lookup_order", arguments, id=f"call_order_{lookup.order_number}", text=lookup.said_before
    )


def _judge(story: Story, request: ChatRequest) -> Behaviour:
    exchange = story.exchange(_turn_judged(story, request))
    return opinion(exchange.score, exchange.opinion)


def _turn_judged(story: Story, request: ChatRequest) -> int:
    """How many of the story's answers the judge has before it; the prompt's own count without any."""
    heard = sum(exchange.shop[:SIGNATURE_LENGTH] in request.text for exchange in story.exchanges)
    return heard or request.turn
