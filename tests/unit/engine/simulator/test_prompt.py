"""What the simulated user is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.messages import Message, Reasoning, Refusal, ToolCall, ToolResult
from parley.engine.simulator.characteristics import traits_at
from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.simulator.prompt import MAX_TOOL_CHARS, Nudge, user_messages
from parley.engine.spec import Spec, UserSampling
from parley.engine.talk import Exchange
from tests.unit.engine.judging.talks import answered, exchange, said

SPEC = Spec(goal="GOAL-7f {braces}", seed=5, resources=("RESOURCE-one", "RESOURCE-two"))
CALL = ToolCall(id="c1", name="lookup", arguments='{"order": 7}')
OPENING = "(You are connected. Write your first message.)"


def system(spec: Spec = SPEC, turn: int = 1, *, may_exit: bool = True, nudge: Nudge | None = None) -> str:
    first = user_messages(spec, (), turn, may_exit, nudge)[0]
    assert first.role == "system"
    return first.text


def talk(*exchanges: Exchange, start: tuple[Message, ...] = ()) -> list[tuple[str, str]]:
    messages = user_messages(replace(SPEC, start=start), exchanges, 2, True, None)
    return [(message.role, message.text) for message in messages[1:]]


def test_goal_and_resources_are_told_and_fenced() -> None:
    lines = system().splitlines()
    for content, name in (
        ("GOAL-7f {braces}", "goal"),
        ("RESOURCE-one", "background"),
        ("RESOURCE-two", "background"),
    ):
        at = lines.index(content)
        assert lines[at - 1].startswith(f"<{name}-")
        assert lines[at + 1] == lines[at - 1].replace("<", "</")


def test_section_of_resources_is_left_out_without_any() -> None:
    assert "What this person knows" in system()
    assert "What this person knows" not in system(replace(SPEC, resources=()))


@settings(deadline=None)
@given(criteria=st.text(st.characters(categories=["L", "N"]), min_size=12))
def test_criteria_are_never_told(criteria: str) -> None:
    spec = replace(SPEC, validation_criteria=criteria, start=(Message(role="user", content="Hi"),))
    told = user_messages(spec, (exchange(1, None, "Hello"),), 2, True, "rejected")
    assert told == user_messages(
        replace(spec, validation_criteria=None), (exchange(1, None, "Hello"),), 2, True, "rejected"
    )
    assert not any(criteria in message.text for message in told)


@pytest.mark.parametrize("may_exit", [True, False])
def test_exit_token_is_told_only_to_who_may_leave(may_exit: bool) -> None:
    assert (EXIT_TOKEN in system(may_exit=may_exit)) is may_exit
    assert ("cannot leave yet" in system(may_exit=may_exit)) is not may_exit


def test_traits_of_the_turn_are_told() -> None:
    spec = replace(SPEC, user_sampling=UserSampling(top_k=1, max_decay=1))
    for turn in (1, 2):
        traits = traits_at(5, turn, spec.user_sampling)
        assert len(traits) == 5
        assert all(f"- {trait.instruction}" in system(spec, turn) for trait in traits)
    assert system(spec, 1) != system(spec, 2)


def test_section_of_traits_is_left_out_without_any() -> None:
    assert "How this person writes" not in system(replace(SPEC, user_sampling=UserSampling(top_k=0)))


def test_each_nudge_says_something_of_its_own_at_the_end() -> None:
    nudges: tuple[Nudge, ...] = ("empty", "rejected", "repeated")
    tails = [system(nudge=nudge).removeprefix(system()) for nudge in nudges]
    assert len(set(tails)) == 3
    assert all(tail.startswith("\n\n# Now\n") for tail in tails)


def test_first_message_is_asked_for_with_a_line_of_the_other_side() -> None:
    assert talk() == [("user", OPENING)]


def test_roles_are_swapped() -> None:
    assert talk(exchange(1, "My pump is broken.", "Which one?"), exchange(2, "The red one.", "I see.")) == [
        ("user", OPENING),
        ("assistant", "My pump is broken."),
        ("user", "Which one?"),
        ("assistant", "The red one."),
        ("user", "I see."),
    ]


def test_greeting_in_start_is_heard() -> None:
    """C013: and nothing is put before it."""
    assert talk(start=(Message(role="assistant", content="Welcome!"),)) == [("user", "Welcome!")]


def test_start_that_ends_with_the_user_is_followed_by_its_answer() -> None:
    """C012: turn 1 has no message of the simulated user."""
    told = talk(exchange(1, None, "Hello."), start=(Message(role="user", content="Hi"),))
    assert told == [("user", OPENING), ("assistant", "Hi"), ("user", "Hello.")]


def test_neighbours_of_one_role_are_merged() -> None:
    """C016."""
    start = (
        Message(role="user", content="One."),
        Message(role="user", content="Two."),
        Message(role="assistant", content="Three."),
        Message(role="assistant", content=[{"type": "text", "text": "Four."}]),
    )
    assert talk(start=start) == [
        ("user", OPENING),
        ("assistant", "One.\n\nTwo."),
        ("user", "Three.\n\nFour."),
    ]
    rounds = exchange(1, "Go.", "Round one.", "Round two.")
    assert talk(rounds)[-1] == ("user", "Round one.\n\nRound two.")


def test_tool_traffic_is_told_in_words() -> None:
    result = ToolResult(id="c1", name="lookup", content="lost")
    told = talk(exchange(1, "Where is it?", answered(1, "One moment.", CALL, result, "It is lost.")))
    assert told[-1] == (
        "user",
        (
            'One moment.\n\n(Behind the scenes: it used its tool lookup with {"order": 7}.)\n\n'
            "(Behind the scenes: its tool lookup answered: lost)\n\nIt is lost."
        ),
    )


def test_tool_traffic_of_start_is_told_in_words() -> None:
    start = (
        Message(role="user", content="Where is it?"),
        Message(role="assistant", content="", tool_calls=(CALL, ToolCall(id="c2", name="", arguments=""))),
        Message(role="tool", content="lost", tool_call_id="c1"),
        Message(role="tool", content="odd"),
    )
    assert talk(start=start)[-1] == (
        "user",
        (
            '(Behind the scenes: it used its tool lookup with {"order": 7}.)\n\n'
            "(Behind the scenes: it used its tool without a name with {}.)\n\n"
            "(Behind the scenes: its tool lookup answered: lost)\n\n"
            "(Behind the scenes: its tool without a name answered: odd)"
        ),
    )


def test_long_tool_traffic_is_capped() -> None:
    long = "x" * (MAX_TOOL_CHARS + 9)
    call, result = ToolCall(id="c", name="n", arguments=long), ToolResult(id="c", name="n", content=long)
    assert (
        talk(exchange(1, "Go.", answered(1, call, result)))[-1][1].count("[... 9 characters left out ...]")
        == 2
    )


def test_refusals_are_heard_and_thoughts_are_not() -> None:
    told = talk(
        exchange(
            1, said(1, "Do it.", thought="secret"), answered(1, Reasoning(text="secret"), Refusal(text="No."))
        )
    )
    assert told == [("user", OPENING), ("assistant", "Do it."), ("user", "No.")]


@pytest.mark.parametrize("rounds", [answered(1), answered(1, " \n"), answered(1, Reasoning(text="secret"))])
def test_empty_answers_are_told_as_such(rounds: object) -> None:
    assert isinstance(rounds, type(answered(1)))
    assert talk(exchange(1, "Hi", rounds))[-1] == ("user", "(The other side sent an empty message.)")
    assert talk(start=(Message(role="assistant", content=" "),)) == [
        ("user", "(The other side sent an empty message.)")
    ]


def test_talk_that_ends_with_the_user_asks_it_to_go_on() -> None:
    assert talk(start=(Message(role="user", content="Hi"),))[-1] == ("user", "(It is your turn to write.)")


START = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant", "tool"]), content=st.text(max_size=4)),
    max_size=5,
)


@settings(deadline=None)
@given(
    start=START,
    turns=st.lists(st.tuples(st.text(max_size=4), st.lists(st.text(max_size=4), max_size=2)), max_size=3),
)
def test_every_request_is_a_history_that_endpoints_take(
    start: list[Message], turns: list[tuple[str, list[str]]]
) -> None:
    told = talk(
        *(exchange(n, user, *rounds) for n, (user, rounds) in enumerate(turns, 1)), start=tuple(start)
    )
    roles = [role for role, _ in told]
    assert roles[0] == roles[-1] == "user"
    assert all(one != other for one, other in pairwise(roles))
    assert all(text for role, text in told if role == "user")
