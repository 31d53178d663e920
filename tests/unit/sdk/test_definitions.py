from __future__ import annotations

import pytest

from parley.sdk.definitions.changes import Change, differing, lines
from parley.sdk.definitions.file import EXAMPLE, definitions_of, written
from parley.sdk.definitions.sync import ADDED
from parley.sdk.definitions.yaml import MOST_BYTES, UnreadableFile, parse
from parley.server.agentic_tests.schemas import AgenticTestDetail
from parley.server.definitions.schemas import Definition


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb: 2\na: 3\n", "f line 3, column 1: a is given twice"),
        ("[" * 5_000, "f: is nested too deeply"),
        ("x" * (MOST_BYTES + 1), "f is larger than"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_by_its_name(text: str, told: str) -> None:
    with pytest.raises(UnreadableFile, match=told):
        parse(text, "f")


def test_defaults_are_taken_over_unless_a_test_says_otherwise() -> None:
    content = {
        "defaults": {"max_turns": 6, "gateway": "g"},
        "tests": [{"name": "a"}, {"name": "b", "max_turns": 8}],
    }
    assert definitions_of(content, "f") == [
        {"max_turns": 6, "gateway": "g", "name": "a"},
        {"max_turns": 8, "gateway": "g", "name": "b"},
    ]
    assert [test["name"] for test in definitions_of(parse(EXAMPLE, "f"), "f")] == [
        "A return is free",
        "No promise beyond 30 days",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "list `tests`"),
        ({"tests": {}}, "list `tests`"),
        ({"tests": [], "test": []}, "not test"),
        ({"tests": [], "defaults": {"name": "x"}}, "defaults"),
        ({"tests": [{"goal": "x"}]}, r"tests\.0 has to be an object with a name"),
        ({"tests": [{"name": "x"}, {"name": "x"}]}, "several tests are called 'x'"),
    ],
)
def test_a_file_of_another_shape_is_refused(content: object, told: str) -> None:
    with pytest.raises(UnreadableFile, match=told):
        definitions_of(content, "f")


def test_only_what_was_sent_and_comes_out_otherwise_differs() -> None:
    before = {
        "max_turns": 10,
        "goal": "x",
        "metadata": {"a": "1"},
        "user_sampling": {"top_k": 1, "max_decay": 0},
    }
    after = before | {"max_turns": 12, "updated_at": "later"}
    assert differing({"max_turns": 12, "goal": "x"}, before, after) == ({"max_turns": 10}, {"max_turns": 12})


def test_changes_are_told_short_or_line_by_line() -> None:
    long = "You want to send the boots back.\n" * 2
    change = Change(
        kind="change",
        name="Boots",
        before={"max_turns": 10, "goal": long},
        after={"max_turns": 12, "goal": long + "And the tent.\n"},
    )
    told = "\n".join(lines([change, Change(kind="delete", name="Old"), Change(kind="same", name="Kept")]))
    assert "~ Boots\n    max_turns: 10 -> 12\n    goal:\n" in told
    assert "      + And the tent." in told
    assert "- Old" in told
    assert "Kept" not in told
    assert told.endswith("0 to create, 1 to change, 1 to delete, 1 unchanged.")


def test_what_the_service_adds_is_known_here() -> None:
    assert set(AgenticTestDetail.model_fields) - set(Definition.model_fields) == ADDED


def test_a_pulled_file_is_a_file_that_can_be_pushed() -> None:
    test = {"name": "a", "goal": "One.\nTwo.", "start": [{"role": "user", "content": "- x: y"}]}
    assert definitions_of(parse(written([test]), "f"), "f") == [test]
