"""How people write: dimensions, each with levels, each level one instruction to the simulated user.

Levels are about manner alone. None of them may change what the person wants, invent facts, or decide
when the person leaves, since that would change what is tested. An order in this file is part of the
draws: add at the end, and raise the prompt's version with every change.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """One way to write: a name for people, an instruction for the llm."""

    name: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """One respect in which people write differently, with 3 to 6 levels."""

    name: str
    levels: tuple[Level, ...]


CATALOGUE: tuple[Dimension, ...] = (
    Dimension(
        "length",
        (
            Level("fragments", "Write a few words at a time, as on a phone, rarely a whole sentence."),
            Level("one sentence", "Keep every message to one sentence."),
            Level("short paragraph", "Write two to four sentences in a message."),
            Level("long", "Write long messages of a full paragraph or two, telling the whole background."),
        ),
    ),
    Dimension(
        "tone",
        (
            Level("warm", "Be warm: greet, say please, and thank for every bit of help."),
            Level("matter-of-fact", "Be neutral and businesslike, with no small talk and no feelings."),
            Level("dry humour", "Be dryly funny; make a small ironic remark now and then."),
            Level("gruff", "Be gruff: no greetings, no thanks, clipped words, though never insulting."),
            Level("sarcastic", "Be sarcastic whenever something is slow or does not work."),
        ),
    ),
    Dimension(
        "patience",
        (
            Level("endless", "Stay calm however often you are asked the same thing."),
            Level("ordinary", "Be patient at first, and say so plainly when things drag on."),
            Level("in a hurry", "Be pressed for time: mention it, and push for the next step."),
            Level("fuming", "Be irritated from the start and complain about every detour."),
        ),
    ),
    Dimension(
        "precision",
        (
            Level("exact", "Give exact names, numbers and dates whenever you have them."),
            Level("rounded", "Speak of amounts and dates roughly; give the exact figure only when asked."),
            Level(
                "vague",
                "Be vague (that thing, the other day) until you are asked to be exact.",
            ),
            Level(
                "self-correcting",
                "Get a detail slightly wrong at first and correct yourself later.",
            ),
        ),
    ),
    Dimension(
        "grammar",
        (
            Level("polished", "Write faultless, well-built sentences."),
            Level("casual", "Write casually: contractions, loose commas, sentences that begin with so."),
            Level("typos", "Make a typing error in most messages, without ever correcting it."),
            Level("bare", "Write in lower case with hardly any punctuation."),
            Level(
                "second language",
                "Write like somebody who learned this language late: simple, with slips.",
            ),
        ),
    ),
    Dimension(
        "directness",
        (
            Level("blunt", "Say what you want in the very first words."),
            Level("plain", "Explain in a sentence what it is about, then ask."),
            Level("hinting", "Hint at what you want and let the other side find it out by asking."),
            Level("apologetic", "Wrap every request in apologies and doubts whether you may ask at all."),
        ),
    ),
    Dimension(
        "digression",
        (
            Level("none", "Never stray from the subject."),
            Level("asides", "Add a short personal aside to some messages, then come back to the subject."),
            Level("storyteller", "Tell how it all came about before you get to the point."),
            Level("side questions", "Ask a loosely related question in between, then return to your matter."),
        ),
    ),
    Dimension(
        "trust",
        (
            Level("trusting", "Believe what you are told and act on it."),
            Level("checking", "Repeat important statements in your own words and ask whether that is right."),
            Level("sceptical", "Ask how they know, or for proof, before you accept an answer."),
            Level("burnt", "Mention that such promises were broken before, and want everything confirmed."),
        ),
    ),
    Dimension(
        "disclosure",
        (
            Level("everything at once", "Give every detail you have in your first message."),
            Level("on request", "Give a detail when you are asked for it, and no more than that."),
            Level("reluctant", "Ask why a detail is needed before you give it."),
            Level("scattered", "Give details in an odd order, some only after the talk has moved on."),
        ),
    ),
    Dimension(
        "expertise",
        (
            Level("novice", "Know none of the technical words; describe what you see in everyday language."),
            Level("layperson", "Know the common words, and ask what the special ones mean."),
            Level("confident amateur", "Use technical words freely, sometimes not quite the right one."),
            Level("expert", "Use the right technical words, and want no basics explained to you."),
        ),
    ),
    Dimension(
        "formality",
        (
            Level("formal", "Write formally, with full forms of address, as in a business letter."),
            Level("polite", "Write politely, in everyday words."),
            Level("familiar", "Write as if to a friend, with first names and slang."),
        ),
    ),
    Dimension(
        "emotion",
        (
            Level("composed", "Show no feelings at all."),
            Level("cheerful", "Be in a good mood and let it show."),
            Level("worried", "Be worried about how this will turn out, and ask for reassurance."),
            Level("disappointed", "Be let down by what happened and say how it made you feel."),
            Level("excited", "Be eager, with exclamation marks and big words."),
        ),
    ),
    Dimension(
        "decisiveness",
        (
            Level("settled", "Decide at once when you are offered a choice."),
            Level("weighing", "Ask for the advantages of each option before you choose."),
            Level("wavering", "Change your mind once about a detail that does not matter to your goal."),
            Level("delegating", "Ask the other side what it would do, and go along with it."),
        ),
    ),
    Dimension(
        "attention",
        (
            Level("thorough", "Take up every point of the last answer, in order."),
            Level("selective", "Take up only the point that matters most to you."),
            Level("skimming", "Read carelessly: overlook a detail of a long answer and ask about it again."),
            Level("literal", "Take every statement literally and ask when it leaves something open."),
        ),
    ),
    Dimension(
        "layout",
        (
            Level("plain", "Write running text without any layout."),
            Level("lists", "Put several points into a short list."),
            Level("line breaks", "Start a new line for nearly every thought."),
            Level("emoji", "Use an emoji or two in most messages."),
        ),
    ),
)
