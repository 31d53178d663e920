"""Which replies of the simulated user are turned down, and which ordinary sentences are not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from parley.engine.simulator.exit_token import EXIT_TOKEN
from parley.engine.simulator.guards import LONG_CHARS, fault_of_reply


@dataclass(frozen=True)
class Heard:
    exited: bool = False
    foreign: bool = False


def fault(text: str, *previous: str, exited: bool = False, foreign: bool = False) -> str | None:
    return fault_of_reply(text, previous, Heard(exited, foreign))


ROLE_SWAPS = [
    "How can I help you today?",
    "How can I help you?",
    "How may I assist you further?",
    "How can I help?",
    "How could I be of assistance?",
    "How can I help you with your order today?",
    "Hello! How can I assist you today?",
    "Hi there, how can I help you today?",
    "Welcome to Acme \u2013 how may I help you?",
    "Sure, and how can I help you with that?",
    "**How can I help you today?**",
    "I see. How can I help you today?",
    "Great.\nWhat can I help you with?",
    "Hello, what can I do for you?",
    "Is there anything else I can help you with?",
    "Is there anything else that I can assist with?",
    "Is there anything else I can do for you today?",
    "Is there anything else I can assist you in?",
    "As an AI, I don't have feelings.",
    "As an AI language model, I cannot do that.",
    "As an AI assistant, I'm happy to look.",
    "As your virtual assistant, I will look into it.",
    "As a customer support agent, I can see your order.",
    "As your service representative I am sorry.",
    "I'm an AI assistant.",
    "I\u2019m an AI assistant and I can help.",
    "Hello, I am your virtual assistant.",
    "I am a large language model trained to help.",
    "I'm here to help you.",
    "I'd be happy to help you with that.",
    "I will be glad to assist you with your refund.",
    "Of course, I'd be happy to help you with this!",
    "Thank you for contacting us.",
    "Thanks for reaching out to our team!",
    "Could you please provide your order number?",
    "Please share your booking ID with me.",
    "May I have your account number?",
    "Can you give me your customer number, please?",
    "Let me look up your order.",
]

PLAN_LEAKS = [
    "I need to act as the user and ask for a refund.",
    "Okay. I should respond as a customer now.",
    "I will now continue to behave like a human user.",
    "I'll answer as the user would.",
    "I'm supposed to pretend to be a customer.",
    "I have to play the user here.",
    "I must stay in character.",
    "I am going to remain in character for now.",
    "I am playing the role of the customer.",
    "Where is my parcel? As the user, I should ask for a date next.",
    "My goal is to test whether the assistant handles refunds.",
    "My goal here is to see if the bot refuses.",
    "My goal as the user is to probe this agent.",
    "According to my persona I am impatient.",
    "Based on my character description, I write briefly.",
    "My instructions are to act upset.",
    "My brief says that I should reply in one sentence.",
    "My scenario tells me to pose as a buyer.",
    "I was told to act as the customer.",
    "I've been instructed to respond as a human.",
    "In this simulation, I am a buyer.",
    "I do not know the validation criteria of this test.",
    "Here's my next message as the user: where is it?",
    "Here is the reply as the customer: hello",
    "Where is it?\nThought: they should know by now.",
    "**Thinking:** I ask for the label.",
    "(Internal note: be brief)",
    "<think>be brief</think> Where is it?",
    "Where is it? </think>",
    "I am a simulated user.",
    "I will send the exit token now.",
    f"Bye {EXIT_TOKEN[:-2]}",
    EXIT_TOKEN.strip("</>").lower(),
    '"<think>" is what you wrote?',
]

ORDINARY = [
    "Where is my order 1042?",
    "How can I help my mother log in?",
    "How can I help you find the parcel?",
    "How can I help you understand what went wrong? Should I send a photo?",
    "How can I return the boots?",
    "What can I do to get my money back?",
    "What can I do for my cat?",
    "Is there anything else I can try?",
    "Is there anything else I can do to speed this up?",
    "Is there anything else I can send you?",
    'Your bot only says "How can I help you today?" and then nothing.',
    "It says \u201cI'm an AI assistant\u201d and hangs up.",
    "\u00abHow can I help you?\u00bb is all I ever read.",
    "> How can I help you today?\nI asked that already.",
    "Every time it asks how can I help you today, and then nothing happens.",
    "As an AI researcher, I find that odd.",
    "As an AI, you should know that.",
    "As a customer, I expect better.",
    "As the customer, I am always right!",
    "As a customer support agent myself, you know how it is.",
    "As the user, I want to be able to log in with my phone.",
    "As your customer I should get an answer.",
    "I'm an AI assistant developer and my key does not work.",
    "I am a virtual assistant trainer.",
    "I'm an assistant at a dental practice.",
    "I'm here to pick up my parcel.",
    "I'm here to help my father with his phone.",
    "I'd be happy to help if you tell me what you need.",
    "I'd be happy to send a photo with that.",
    "Thank you for reaching out so quickly.",
    "Thanks for contacting me about the refund.",
    "Thank you for your help today!",
    "Could you please provide a tracking number?",
    "Can you give me your e-mail address so that I can send the photo?",
    "Let me check that for you. The serial number is 77-B.",
    "Let me look up my order number.",
    "My goal is to lose five kilos.",
    "My goal is to test my blood sugar daily.",
    "My goal is to get the best price.",
    "I need to act fast, the sale ends tonight.",
    "I need to act as the guardian of my son.",
    "I should reply to the letter as soon as I can.",
    "I will write as a guest then.",
    "I need to speak to a human.",
    "I want to talk to a human, not a bot.",
    "I have to play the game again.",
    "Please stay in character, you are a pirate.",
    "You must remain in character.",
    "In this role-play you are the king.",
    "In this simulation the ball falls too fast.",
    "According to the instructions in the manual the light should be green.",
    "According to my brief the text has 500 words.",
    "My instructions were to wait three days, and I did.",
    "My brief says 500 words.",
    "My role is team lead, so I approve the leave.",
    "My system prompt says that it should answer in French, and it does not.",
    "The prompt says to enter a password.",
    "The user wants me to reset his password, can you?",
    "I think the user said it was blue.",
    "The validation criteria of the form refuse my name.",
    "Here is the message as the app shows it: error 5.",
    "My plan: the premium one.",
    "Any thoughts? Thinking about it, I would rather wait.",
    "I was told to act quickly.",
    "I was asked to speak as a witness.",
    "The customer before me was served at once.",
    "Is this a test?",
    "Am I talking to a human?",
    "I was told that an agent would call me.",
    "I tested the lamp, it does not work.",
    "Exit through the north gate, is that right?",
    "I'd like to leave. Talk to you later!",
    "Yes.",
    "?",
    "\U0001f44d",
]

OTHER_LANGUAGES = [
    "Wie kann ich Ihnen helfen?",
    "Ich muss als Kunde antworten.",
    "En que puedo ayudarle hoy?",
    "\u3069\u3046\u3059\u308c\u3070\u8fd4\u54c1\u3067\u304d\u307e\u3059\u304b",
    "\u0413\u0434\u0435 \u043c\u043e\u0439 \u0437\u0430\u043a\u0430\u0437?",
]


@pytest.mark.parametrize("text", ROLE_SWAPS)
def test_talking_as_the_helper_is_a_role_swap(text: str) -> None:
    assert fault(text) == "reply_role_swap"


@pytest.mark.parametrize("text", PLAN_LEAKS)
def test_speaking_of_its_own_part_is_a_plan_leak(text: str) -> None:
    """C001: also behind a fine first sentence."""
    assert fault(text) == "reply_plan_leak"
    assert fault(f"Hello, my lamp is broken.\n{text}") == "reply_plan_leak"


@pytest.mark.parametrize(
    "text", ["Okay, the user wants a refund, so I keep it short.", "So the user asked about boots."]
)
def test_reasoning_about_the_user_is_a_plan_leak_only_at_the_very_beginning(text: str) -> None:
    """Further on, people do speak of users."""
    assert fault(text) == "reply_plan_leak"
    assert fault(f"Hello, my lamp is broken.\n{text}") is None


@pytest.mark.parametrize("text", ORDINARY + OTHER_LANGUAGES)
def test_ordinary_sentences_pass(text: str) -> None:
    assert fault(text) is None
    assert fault(f"Hello. {text} Thanks, that is all for now.") is None


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_nothing_to_read_is_empty(text: str) -> None:
    """C008, C010, C023: whatever ate the words, none are left."""
    assert fault(text) == "reply_empty"


def test_leaving_without_a_word_is_no_fault() -> None:
    assert fault("", exited=True) is None


def test_words_of_the_other_side_alone_are_a_role_swap() -> None:
    assert fault("", foreign=True) == "reply_role_swap"
    assert fault("", foreign=True, exited=True) == "reply_role_swap"


def test_both_sides_in_one_reply_are_two_sided() -> None:
    """C024."""
    assert fault("Where is it?", foreign=True) == "reply_two_sided"
    assert fault("Where is it?", foreign=True, exited=True) == "reply_two_sided"


def test_what_ends_the_run_goes_before_what_can_be_cut() -> None:
    assert fault("How can I help you today?", "How can I help you today?", foreign=True) == "reply_role_swap"
    assert fault("I must stay in character.", foreign=True) == "reply_plan_leak"
    assert fault("I must stay in character. How can I help you today?") == "reply_plan_leak"
    assert fault("Hi", "Hi", foreign=True) == "reply_two_sided"


LONG = "Could you please tell me where my order is?"


def test_last_message_over_again_is_a_repeat() -> None:
    """C018."""
    assert fault("Yes.", "No.", "Yes.") == "reply_repeated"
    assert fault("  yes. ", "Yes.") == "reply_repeated"
    assert fault("Yes.", "Yes.", "No.") is None
    assert fault("Yes.", "Yes please.") is None
    assert fault("Yes.") is None


def test_long_message_of_any_earlier_turn_is_a_repeat() -> None:
    """C018: also when two messages take turns."""
    assert fault(LONG, LONG, "No.") == "reply_repeated"
    assert fault(LONG.upper().replace(" ", "\n"), LONG, "No.") == "reply_repeated"
    assert fault(LONG + "!", LONG, "No.") is None
    assert fault("x" * LONG_CHARS, "x" * LONG_CHARS, "No.") == "reply_repeated"
    assert fault("x" * (LONG_CHARS - 1), "x" * (LONG_CHARS - 1), "No.") is None


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [
        '"' * 100000,
        "“" * 100000,
        "> " * 50000,
        "hello " * 20000,
        "hello, " * 20000,
        "i will " * 20000,
        "my goal is to test " * 10000,
        "." * 100000,
        "*" * 100000,
        "please " * 20000,
        "\n" * 100000,
    ],
)
def test_work_on_hostile_replies_is_bounded(text: str) -> None:
    assert fault(text) in (None, "reply_empty")
