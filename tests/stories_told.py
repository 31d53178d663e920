"""A conversation with everything in it that can happen to one that ends well."""

from __future__ import annotations

from typing import Any

from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.server.llm.demo import CallTool, Cut, Rule, Say, Status, opinion

EVENTFUL_FIELDS: dict[str, Any] = {
    "seed": 7,
    "max_turns": 6,
    "profile": "low",
    "tool_mocks": [{"name": "lookup_order", "result": "Delivered on Monday."}],
}
"""Fields of a test, or of a direct evaluation, to be held with `eventful()`."""

USAGE = {
    "prompt_tokens": 1_000,
    "completion_tokens": 100,
    "total_tokens": 1_100,
    "prompt_tokens_details": {"cached_tokens": 200},
}


def eventful() -> tuple[Rule, ...]:
    """Tool rounds, reasoning, an empty reply, a 429, a cut after visible text, an exit, bad opinions."""
    return (
        Rule((Say("Hello, my boots are too small.", reasoning="I begin politely."),), part="user", turn=1),
        Rule((Say(" \n "), Say("It is order 1042, bought last week.")), part="user", turn=2),
        Rule((Say("And when will the money be back?"),), part="user", turn=3),
        Rule((Say(f"Thank you, that is all. {EXIT_TOKEN}"),), part="user", turn=4),
        Rule(
            (CallTool("lookup_order", '{"order": 1042}', text="One moment. "),),
            part="assistant",
            turn=1,
            after_tool=False,
        ),
        Rule(
            (Cut(4), Say("They came on Monday; what is wrong with them?", reasoning="Look: Monday.")),
            part="assistant",
            turn=1,
            after_tool=True,
        ),
        Rule(
            (Status(429, {"retry-after": "0"}), Say("A label is on its way.", usage=USAGE)),
            part="assistant",
            turn=2,
        ),
        Rule((Cut(5), Say("Within five days, to your card.")), part="assistant", turn=3),
        Rule((Say("You are welcome, goodbye!"),), part="assistant", turn=4),
        Rule((opinion(0.5, "Polite so far."),), part="judge", turn=1),
        Rule((Say("I would rather not say."), opinion(0.6, "A label was offered.")), part="judge", turn=2),
        Rule((opinion(0.7, "The day was named."),), part="judge", turn=3),
        Rule((opinion(0.8, "All answered."),), part="judge", turn=4),
    )
