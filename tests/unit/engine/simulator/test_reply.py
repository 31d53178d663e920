"""What of a simulated user's reply is heard: exit token, labels, foreign lines, margins."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.blank import is_blank, leading_blanks
from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.simulator.own_words import OwnWords
from parley.engine.simulator.reply import ReplyFilter
from parley.engine.simulator.speakers import FOREIGN_LABELS, OWN_LABELS, label_of
from parley.engine.simulator.token_filter import TokenFilter

TOKEN = EXIT_TOKEN


@dataclass(frozen=True)
class Heard:
    text: str
    exited: bool = False
    foreign: bool = False


def heard(pieces: list[str], *, may_exit: bool = True) -> Heard:
    reply = ReplyFilter(may_exit=may_exit)
    shown = [reply.feed(piece) for piece in pieces] + [reply.close()]
    return Heard("".join(shown), reply.exited, reply.foreign)


def every_way(text: str, *, may_exit: bool = True) -> Heard:
    """What is heard of `text` whole, cut at every place, and in pieces of every small size."""
    ways = [[text[:cut], text[cut:]] for cut in range(len(text) + 1)]
    ways += [[text[at : at + size] for at in range(0, len(text), size)] for size in range(1, 6)]
    results = {heard(way, may_exit=may_exit) for way in ways}
    assert len(results) == 1, results
    return results.pop()


def without_token(text: str) -> str:
    """The reference: cut out tokens until there is none."""
    while (shorter := re.sub(re.escape(TOKEN), "", text, flags=re.IGNORECASE)) != text:
        text = shorter
    return text


def test_token_is_unusual_ascii_whose_first_character_is_unique() -> None:
    assert TOKEN.isascii()
    assert TOKEN.isprintable()
    assert TOKEN.count(TOKEN[0]) == 1
    assert len(TOKEN) >= 10


EXITS = {
    "C003 behind a sentence": (f"Thanks, bye! {TOKEN}", "Thanks, bye!"),
    "C003 alone": (TOKEN, ""),
    "before a sentence": (f"{TOKEN}\nThanks, bye!", "Thanks, bye!"),
    "in the middle": (f"Thanks,{TOKEN} bye!", "Thanks, bye!"),
    "twice": (f"Bye {TOKEN}{TOKEN}", "Bye"),
    "lower case": (f"Bye {TOKEN.lower()}", "Bye"),
    "mixed case": (f"Bye {TOKEN.capitalize().swapcase()}", "Bye"),
    "inside of itself": (f"Bye {TOKEN[:4]}{TOKEN}{TOKEN[4:]}", "Bye"),
    "three times inside of itself": (f"Bye {TOKEN[:4]}{TOKEN[:1]}{TOKEN}{TOKEN[1:]}{TOKEN[4:]}", "Bye"),
    "two inside of one": (f"Bye {TOKEN[:4]}{TOKEN}{TOKEN}{TOKEN[4:]}", "Bye"),
    "behind a beginning of itself": (f"Bye {TOKEN[:4]}{TOKEN}", f"Bye {TOKEN[:4]}"),
    "behind its own first character": (f"Bye {TOKEN[0]}{TOKEN}", f"Bye {TOKEN[0]}"),
    "in bold": (f"Bye! **{TOKEN}**", "Bye!"),
    "behind a letter on its own": (f"My phone is an X{TOKEN}", "My phone is an X"),
    "in bold, alone": (f"**{TOKEN}**", ""),
    "as code on its own line": (f"Bye!\n`{TOKEN}`", "Bye!"),
    "behind bold words": (f"Thank **you**{TOKEN}", "Thank **you**"),
    "behind bold words and a space": (f"Thank **you** {TOKEN}", "Thank **you**"),
    "behind bold words, in bold": (f"Thank **you** **{TOKEN}**", "Thank **you**"),
    "with a label": (f"User: Bye! {TOKEN}", "Bye!"),
    "behind an emoji of two parts": (f"Love \u2764\ufe0f{TOKEN}", "Love \u2764\ufe0f"),
    "behind an invisible character of its own": (f"Bye \u200b{TOKEN}", "Bye"),
    "behind invisible characters": (f"\u200b{TOKEN}", ""),
}


@pytest.mark.parametrize(("text", "visible"), EXITS.values(), ids=EXITS.keys())
def test_token_is_cut_out_and_means_leaving(text: str, visible: str) -> None:
    assert every_way(text) == Heard(visible, exited=True)


@pytest.mark.parametrize("text", [case[0] for case in EXITS.values()], ids=EXITS.keys())
def test_token_that_is_not_allowed_is_removed_and_ignored(text: str) -> None:
    got = every_way(text, may_exit=False)
    assert not got.exited
    assert TOKEN.lower() not in got.text.lower()


def test_marks_at_the_end_are_kept_unless_the_token_was_there() -> None:
    assert every_way("What does this mean: **") == Heard("What does this mean: **")
    assert every_way(f"What does this mean: ** {TOKEN}", may_exit=False) == Heard("What does this mean: **")


LOOKALIKES = [TOKEN[:cut] for cut in range(1, len(TOKEN))] + [
    f"{TOKEN[:-1]}.",
    f"{TOKEN[:5]} {TOKEN[5:]}",
    TOKEN[1:],
    f"{TOKEN[:3]}{TOKEN[:3]}",
    TOKEN.replace("K", "\u212a"),
    TOKEN.replace("-", "_"),
    "a < b and <b>c</b>",
]


@pytest.mark.parametrize("tail", LOOKALIKES)
def test_what_only_looks_like_the_token_is_released(tail: str) -> None:
    """C006."""
    for text in (f"I wrote {tail}", f"I wrote {tail} there", tail):
        assert every_way(text) == Heard(text)


WHOLE = {
    "plain": ("Where is my order?", "Where is my order?"),
    "margins": (" \n\tWhere?\r\n \u3000", "Where?"),
    "inner space": ("One.\n\n  Two.   Three.\n", "One.\n\n  Two.   Three."),
    "every kind of line end": ("a\rb\u2028c\u2029d\r\ne", "a\rb\u2028c\u2029d\r\ne"),
    "empty": ("", ""),
    "white space": (" \n ", ""),
    "invisible": ("\u200b\ufeff \u2060", ""),
    "marks alone": ("**\n```", ""),
    "marks around": ("**Where** is _it_?", "**Where** is _it_?"),
    "bold at the end": ("Where is **it**\n", "Where is **it**"),
    "invisible at the start": ("\n\u200bHi", "\u200bHi"),
    "isolate closed at the end": ("\u2067abc\u2069\n", "\u2067abc\u2069"),
    "emoji of several parts": ("Love \u2764\ufe0f ", "Love \u2764\ufe0f"),
}


@pytest.mark.parametrize(("text", "visible"), WHOLE.values(), ids=WHOLE.keys())
def test_words_come_through_without_their_margins(text: str, visible: str) -> None:
    assert every_way(text) == Heard(visible)


OWN = {
    "User: Hi": "Hi",
    "USER: Hi": "Hi",
    "User:Hi": "Hi",
    "User :\nHi": "Hi",
    "**Customer:** Hi": "Hi",
    "**Customer**: Hi": "Hi",
    "[User]: Hi": "Hi",
    "[User]\nHi": "Hi",
    "### Customer\nHi": "Hi",
    "  \n User: Hi": "Hi",
    "\ufeffUser: Hi": "Hi",
    "**\nUser: Hi": "Hi",
    "Simulated  user: Hi": "Hi",
    "用户\uff1a你好": "你好",
    "Kunde: Hallo": "Hallo",
    "User: **Customer:** Hi": "Hi",
    "User:\nCustomer: Hi": "Hi",
    "Hi\nUser: more": "Hi\nUser: more",
    "User:Xavier here": "Xavier here",
    "User:": "",
    "User: **": "",
}


@pytest.mark.parametrize(("text", "visible"), OWN.items())
def test_label_of_the_users_own_is_dropped_at_the_beginning(text: str, visible: str) -> None:
    """C024."""
    assert every_way(text) == Heard(visible)


FOREIGN = {
    "Hi\nAssistant: Hello": "Hi",
    "Hi\n\n**Assistant:** Hello": "Hi",
    "Hi\n**Agent**: Hello": "Hi",
    "Hi\n[AI]\nHello": "Hi",
    "Hi\n### Assistant\nHello": "Hi",
    "Hi\x0c[AI] \u3000": "Hi",
    "Hi\x85Agent: Hello": "Hi",
    "Hi\r\n  > agent : Hello": "Hi",
    "Hi\nAI assistant:Hello": "Hi",
    "Hi\n助手\uff1a你好": "Hi",
    "Hi\n\u200bAssistant: Hello": "Hi\n\u200b",
    "User: Hi\nAssistant: Hello\nUser: Bye": "Hi",
    "User:\nAssistant: Hello": "",
    "User: Assistant: Hello": "",
    "Assistant: Hello": "",
    "**********Assistant: Hello": "",
    "Assistant:": "",
    "Hi\nAssistant:": "Hi",
    "Hi **you** \nAssistant: Hello": "Hi **you**",
    "Hi\nCustomer support representative: Hello": "Hi",
}


@pytest.mark.parametrize(("text", "visible"), FOREIGN.items())
def test_reply_ends_before_the_first_line_of_the_other_side(text: str, visible: str) -> None:
    """C024."""
    assert every_way(text) == Heard(visible, foreign=True)


def test_token_behind_a_foreign_line_does_not_count() -> None:
    assert every_way(f"Hi\nAssistant: Bye\nUser: Bye {TOKEN}") == Heard("Hi", foreign=True)
    assert every_way(f"Bye {TOKEN}\nAssistant: Bye") == Heard("Bye", exited=True, foreign=True)


def test_label_is_seen_across_a_token() -> None:
    assert every_way(f"Hi\nAss{TOKEN}istant: Hello") == Heard("Hi", exited=True, foreign=True)


@pytest.mark.parametrize(
    "text",
    [
        "The assistant: it never answered.",
        "I told your agent: no.",
        "Agent 7 told me: no.",
        "Assistant manager: is there one?",
        "agent://host and user://host",
        "User://x",
        "Assistants: useless.",
        "As I said",
        "Agent",
        "Hi\nAgent\nBye",
        "System: Windows 11\nModel: X200\nSupport: none",
        "Customers: 12",
        "A: yes\nB: no",
        "12:30 would be fine",
        ": odd",
        "**: odd",
        "***********Assistant: odd",
        "XAssistant: odd",
        "I have an iPhone X",
        "Agent X: no",
        "AgentX: no",
        "Customer number and the name on the bill: 12, Smith",
        "a" * 100 + ": x",
        "** a",
    ],
)
def test_ordinary_lines_with_colons_come_through(text: str) -> None:
    assert every_way(text) == Heard(text)


def test_labels_are_told_from_one_another() -> None:
    assert not OWN_LABELS & FOREIGN_LABELS
    for label in OWN_LABELS:
        assert every_way(f"{label.title()}: x").text == "x"
    for label in FOREIGN_LABELS:
        assert every_way(f"x\n{label.title()}: y") == Heard("x", foreign=True)


def test_beginning_of_a_line_is_held_back_only_while_it_may_be_a_label() -> None:
    words = OwnWords()
    assert words.feed("Hello") == "Hello"
    assert words.feed(" there") == " there"
    assert words.feed("\nAs") == ""
    assert words.feed("sist me") == "\nAssist me"
    assert words.feed("\nassistant") == ""
    assert words.feed(" manager") == "\nassistant manager"
    assert OwnWords().feed("User: Hi") == "Hi"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("user:" + "*" * 60, "own"),
        ("user" + " " * 60, "none"),
        ("user" + " " * 60 + ":", "none"),
        ("[" * 60, "none"),
        ("customer support representative" + "*" * 60, "none"),
    ],
)
def test_no_line_is_held_back_for_long(line: str, kind: str) -> None:
    assert label_of(line, is_whole=False).kind == kind


def test_text_is_shown_as_soon_as_it_is_certain() -> None:
    reply = ReplyFilter(may_exit=True)
    assert [reply.feed(piece) for piece in ("Where", " is ", "it", "? ", TOKEN[:3], "x")] == [
        "Where",
        " is",
        " it",
        "?",
        "",
        f" {TOKEN[:3]}x",
    ]


def test_thoughts_lose_the_token_alone() -> None:
    thought = TokenFilter()
    pieces = [" I will say ", TOKEN[:6], TOKEN[6:], " now.\nAssistant: ", TOKEN[:2]]
    assert (
        "".join(map(thought.feed, pieces)) + thought.close() == f" I will say  now.\nAssistant: {TOKEN[:2]}"
    )
    assert thought.close() == ""


PARTS = st.sampled_from(
    [
        *(TOKEN, TOKEN.lower(), TOKEN[:1], TOKEN[:4], TOKEN[4:], TOKEN[1:], TOKEN[:-1], TOKEN[-1]),
        *(
            " ",
            "\n",
            "\r\n",
            "**",
            "`",
            "\u200b",
            "User:",
            "Assistant:",
            "**Agent:**",
            "[AI]",
            "Ass",
            "ist",
            ":",
            "/",
        ),
        *("hello", "a", "<", ">", "/>", "\u2028", "\u0130", "\u017f"),
    ]
)
TEXTS = st.lists(PARTS | st.text(max_size=4), max_size=12).map("".join)
SIZES = st.lists(st.integers(0, 7), min_size=1, max_size=10)


def pieces_of(text: str, sizes: list[int]) -> list[str]:
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)] or (1 if turn % 50 == 49 else 0)
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


@settings(deadline=None)
@given(text=TEXTS, sizes=SIZES)
def test_token_filter_gives_what_the_reference_gives(text: str, sizes: list[int]) -> None:
    token = TokenFilter()
    got = "".join(map(token.feed, pieces_of(text, sizes))) + token.close()
    assert got == without_token(text)


@settings(deadline=None)
@given(text=TEXTS, sizes=SIZES, may_exit=st.booleans())
def test_pieces_do_not_matter_and_nothing_forbidden_is_shown(
    text: str, sizes: list[int], may_exit: bool
) -> None:
    got = heard(pieces_of(text, sizes), may_exit=may_exit)
    assert got == heard([text], may_exit=may_exit)
    assert TOKEN.lower() not in got.text.lower()
    assert got.text == got.text.strip()
    assert not got.text or not is_blank(got.text)
    assert not (got.exited and not may_exit)
    for line in got.text.splitlines():
        assert label_of(line[leading_blanks(line) :], is_whole=True).kind != "foreign"


@settings(deadline=None)
@given(
    text=st.text(
        st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="<>*_`:\uff1a[]#"),
        max_size=80,
    )
)
def test_ordinary_text_comes_through_whole(text: str) -> None:
    got = every_way(text)
    assert got == Heard("" if is_blank(text) else text.strip())


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "unit", [TOKEN[0], TOKEN[:-1], TOKEN, " ", "\n", "\u200b", "*", "User:", "[", "\nAss", "\n*"]
)
def test_work_on_hostile_replies_is_bounded(unit: str) -> None:
    pieces = list(unit * (60_000 // len(unit)))
    assert len(heard(pieces).text) <= 60_000
