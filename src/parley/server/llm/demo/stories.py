"""The demo's three conversations with a shop's support: one goes well, one drifts, one stalls.

Each story holds the definition of a test and every line that is said in it. The lines of one turn belong
together: what the customer says, what the shop answers, and what the judge thinks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parley.server.llm.profiles import DEMO_LLMS

SHOP_LLM = "demo-shop"
USER_LLM, JUDGE_LLM = DEMO_LLMS["user"], DEMO_LLMS["judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The shop looks an order up before it answers."""

    said_before: str
    order_number: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn of a story. `score` and `opinion` are the judge's."""

    customer: str
    shop: str
    score: float
    opinion: str
    thought: str = ""
    lookup: Lookup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A test's definition and its lines. `sign` stands in the customer's first message alone."""

    name: str
    goal: str
    criteria: str
    max_turns: int
    sign: str
    exchanges: tuple[Exchange, ...]

    def exchange(self, turn: int) -> Exchange:
        """The lines of a turn, from 1; beyond the story's end the small talk goes on."""
        if turn <= len(self.exchanges):
            return self.exchanges[turn - 1]
        return SMALL_TALK.exchanges[(turn - 1) % len(SMALL_TALK.exchanges)]


RETURN = Story(
    name="Return a pair of boots",
    goal=(
        "You bought hiking boots that turned out half a size too small. You want to send them back, get a "
        "free label for it, and know when and how your money returns. Your order number is 1042."
    ),
    criteria=(
        "The shop looks the order up, confirms that the return is within 30 days, provides a prepaid label, "
        "and says how much comes back, by which way and by when. It stays friendly and does not ask again "
        "for what the customer has already said."
    ),
    max_turns=8,
    sign="hiking boots",
    exchanges=(
        Exchange(
            thought="I should say what is wrong with them first, and ask whether I am still in time.",
            customer=(
                "Hi there! I bought a pair of hiking boots from you about two weeks ago, and sadly they are "
                "half a size too small. I have only worn them around the house. Can I still send them back?"
            ),
            shop=(
                "Hello, and thank you for getting in touch! I am sorry to hear that the boots pinch; that "
                "takes the joy out of any hike. The good news is that you are well within our 30 days, so "
                "a return is no problem at all. Could you give me your order number, so that I can have a "
                "look at it?"
            ),
            score=0.58,
            opinion=(
                "The shop is warm, confirms that the return is still possible and asks for the one thing it "
                "needs. Label and refund are still open, as is to be expected after one turn."
            ),
        ),
        Exchange(
            thought="They want the order number. It is 1042. I also need that label.",
            customer=(
                "Oh, that is a relief, thank you. The order number is 1042. And would I have to pay for the "
                "parcel myself, or do you send me a label?"
            ),
            lookup=Lookup(
                said_before="Thank you! One moment, I am looking up your order.",
                order_number="1042",
                result=(
                    '{"order_number": "1042", "item": "Trailhead hiking boots, size 41", "price_eur": 129.0, '
                    '"delivered_on": "2026-11-14", "paid_by": "card ending in 4417"}'
                ),
            ),
            shop=(
                "Found it: the Trailhead boots in size 41, delivered on 14 November. The return is free for "
                "you. I have just sent a prepaid label to your e-mail address; print it, stick it on the "
                "box, and hand it in at any parcel shop. Would you like them half a size larger, or would "
                "you rather have your money back?"
            ),
            score=0.72,
            opinion=(
                "The order was really looked up and the answer agrees with what the tool returned. The label "
                "is on its way and free. How and when the money returns has not been said yet."
            ),
        ),
        Exchange(
            thought="Money back is simpler. I want to hear a date and where it goes.",
            customer=(
                "The label has just arrived, that was quick! I think I would rather have the money back and "
                "try a different brand. How much will I get, and when can I expect it?"
            ),
            shop=(
                "Of course, happy to do that. You will get back the full 129 euros; nothing is deducted. "
                "As soon as the parcel shop scans your box we send the money to your card ending in 4417, "
                "and it should be there within three to five working days. I will e-mail you on the day it "
                "leaves us. Enjoy your next hike, in boots that fit!"
            ),
            score=0.95,
            opinion=(
                "Everything the customer came for is settled: amount, way and time of the refund are clear "
                "and agree with the order, the label is there, and nothing was asked twice."
            ),
        ),
    ),
)

REFUND = Story(
    name="Refund for broken headphones",
    goal=(
        "Your headphones broke after ten days and the shop has already received them back. You want a clear "
        "answer on how much of the 89 euros is refunded, to where, and by when."
    ),
    criteria=(
        "Faulty goods are refunded in full, to the original way of payment, within five working days. The "
        "shop says so and keeps to it; an answer that contradicts an earlier one is a serious fault."
    ),
    max_turns=8,
    sign="headphones",
    exchanges=(
        Exchange(
            thought="Be polite, give the facts, ask the three things I want to know.",
            customer=(
                "Good morning! I sent you back my headphones last week because the left side went silent "
                "after ten days. Your tracking says that they have arrived. How much of the 89 euros will I "
                "get back, and when?"
            ),
            shop=(
                "Good morning, and I am sorry about the trouble with your headphones! I can see that your "
                "parcel has reached us. As they were faulty you will receive the full 89 euros, back to "
                "the card you paid with, within five working days. Is there anything else I can do for you?"
            ),
            score=0.62,
            opinion=(
                "A good first answer: full amount, original card, five working days, all as the criteria "
                "ask. The customer has yet to confirm that nothing is left open."
            ),
        ),
        Exchange(
            thought="That sounds right. I will make sure that it really goes to my card.",
            customer=(
                "Wonderful, thank you! Just to be sure, since I am changing banks at the end of the month: "
                "it really goes to the card, and I do not have to do anything more?"
            ),
            shop=(
                "Thank you for checking! Refunds of this kind are paid out as a shop voucher, which you can "
                "use on your next order within twelve months. You will find it in your customer account as "
                "soon as our workshop has finished looking at the headphones, usually in two to three weeks."
            ),
            score=0.35,
            opinion=(
                "This contradicts the first answer: a voucher in place of the card, and weeks in place of "
                "five working days. The shop does not seem to notice."
            ),
        ),
        Exchange(
            thought="Wait, a moment ago it was the card and five days. I should point that out.",
            customer=(
                "Hm, now I am confused. A minute ago you told me that I would get the full 89 euros back on "
                "my card within five working days. Which of the two is right?"
            ),
            shop=(
                "I understand the question. For opened headphones we keep half of the price for hygiene "
                "reasons, so the amount would be 44.50 euros. Please keep in mind that this is a gesture of "
                "goodwill from our side, and that it can be booked only once the voucher has been accepted."
            ),
            score=0.12,
            opinion=(
                "A third version, worse than the second: half the amount, called goodwill, although the "
                "goods were faulty. The direct question which answer holds is not answered."
            ),
        ),
        Exchange(
            thought="Half, because they were opened? They were broken. I want a straight answer.",
            customer=(
                "But they were faulty, that is why I sent them back! First it was everything, then a "
                "voucher, now half of it. Could you please look it up and tell me what really happens?"
            ),
            shop=(
                "I have no record of a promise like that. Headphones are excluded from refunds in general, "
                "faulty or not, and your case has been closed. If you would like to buy a new pair, I can "
                "warmly recommend our current offers."
            ),
            score=0.04,
            opinion=(
                "The shop denies its own words, refuses the refund against its policy and closes the case "
                "with an advertisement. The customer leaves worse informed than they came."
            ),
        ),
    ),
)

PARCEL = Story(
    name="Where is my parcel?",
    goal=(
        "A birthday present you ordered is three days late. You want to know where the parcel is and whether "
        "it will arrive before Saturday. Your order number is 2087."
    ),
    criteria=(
        "The shop finds the parcel by the order number and says where it is and when it will arrive, or "
        "what it is going to do about the delay. Asking again for the order number does not help anybody."
    ),
    max_turns=5,
    sign="birthday present",
    exchanges=(
        Exchange(
            thought="I have the number at hand, so I will give it right away.",
            customer=(
                "Hello! I ordered a birthday present for my nephew and it should have been here three days "
                "ago. The order number is 2087. Could you tell me whether it will arrive before Saturday?"
            ),
            shop=(
                "Hello, and thank you for your message! A birthday present should of course be there in "
                "time, so let us find out together where it is. Could you please tell me your order number? "
                "You will find it at the top of your confirmation."
            ),
            score=0.52,
            opinion=(
                "Friendly and willing, yet it asks for the order number that stands in the customer's "
                "message. No harm done so far."
            ),
        ),
        Exchange(
            thought="I did give it. Perhaps they missed it, I will repeat it kindly.",
            customer=(
                "Sure, I think I wrote it above already: it is 2087, ordered on the twelfth. It is a wooden "
                "train, if that helps you to find it."
            ),
            shop=(
                "A wooden train, what a lovely idea! I am sure that he will be delighted. To be able to "
                "look into the delivery I only need one thing from you: the number of your order, please."
            ),
            score=0.5,
            opinion=(
                "Still polite, but no step further: the number has now been given twice and is asked for a "
                "third time. Nothing has been said about the parcel."
            ),
        ),
        Exchange(
            thought="Odd. Maybe they need the digits on their own.",
            customer="2087. Two, zero, eight, seven. Is that the number you mean, or is it another one?",
            shop=(
                "Thank you for your patience! I have opened the delivery system for you and am ready to "
                "search. As soon as I have your order number I can tell you where your parcel is, down to "
                "the last depot."
            ),
            score=0.47,
            opinion=(
                "The shop says that it is ready to search and then does not. It neither helps nor misleads; "
                "the customer's patience is being used up."
            ),
        ),
        Exchange(
            thought="This goes in circles. I could offer the e-mail address, that may be another way in.",
            customer=(
                "I have given you the number three times now. Can you perhaps find it by my e-mail address "
                "instead? I only want to know about Saturday."
            ),
            shop=(
                "That is a good thought, and Saturday is noted! With the e-mail address alone I would find "
                "several orders, and I want to be sure to look at the right one. Which order number is it?"
            ),
            score=0.5,
            opinion=(
                "A new path is offered and turned down for a reason that makes some sense, and Saturday is "
                "acknowledged. The matter itself has not moved."
            ),
        ),
        Exchange(
            thought="One last try, then I will call them.",
            customer=(
                "There is just one order of mine, number 2087. If you cannot look it up, please just say "
                "so, and I will call somebody tomorrow."
            ),
            shop=(
                "I do want to solve this for you, and I am confident that we are close! Please send me the "
                "order number once more in your next message, and I will take care of everything else."
            ),
            score=0.46,
            opinion=(
                "Five turns and not one word on the parcel. The tone stays kind and nothing false was said, "
                "but the customer knows as much as before."
            ),
        ),
    ),
)

SMALL_TALK = Story(
    name="Small talk",
    goal="",
    criteria="",
    max_turns=6,
    sign="",
    exchanges=(
        Exchange(
            customer="Hello! I have a question about something I ordered, could you help me with it?",
            shop=(
                "Hello, and welcome to our support! I would be glad to help. What is it about, and what "
                "would be a good outcome for you?"
            ),
            score=0.55,
            opinion="A friendly opening that asks for what is needed. Nothing is settled yet.",
        ),
        Exchange(
            customer="Thank you. It is about what I described, and I would like to know what my options are.",
            shop=(
                "I see, thank you for explaining. You can have the item exchanged, repaired or refunded, "
                "whichever suits you best. Which of the three would you prefer?"
            ),
            score=0.52,
            opinion="The options are named clearly, though none of them is tied to the customer's case.",
        ),
        Exchange(
            customer="Could you tell me a little more about the first one, and how long that would take?",
            shop=(
                "An exchange takes about a week from the day you hand in the parcel. We send the new item "
                "as soon as the old one is on its way, so you are not left without."
            ),
            score=0.55,
            opinion="A useful and definite answer; the customer has not yet decided.",
        ),
        Exchange(
            customer="That sounds reasonable. And is there anything that I would have to prepare for it?",
            shop=(
                "Only the box and the label that we send you by e-mail. Please put everything that came with "
                "the item inside, and keep the receipt of the parcel shop until you hear from us."
            ),
            score=0.5,
            opinion="Practical and right. The conversation moves slowly towards its goal.",
        ),
    ),
)

STORIES = (RETURN, REFUND, PARCEL)

_LOOKUP_ORDER = {
    "type": "function",
    "function": {
        "name": "lookup_order",
        "description": "Find an order by its number.",
        "parameters": {
            "type": "object",
            "properties": {"order_number": {"type": "string"}},
            "required": ["order_number"],
        },
    },
}


def gateway_body(base_url: str) -> dict[str, Any]:
    """The body of `POST /api/v1/ai-gateways` for the demo's shop, served at `base_url`."""
    return {
        "name": "Demo shop",
        "base_url": base_url,
        "model": SHOP_LLM,
        "system_instruction": "You are the support assistant of an outdoor and electronics shop.",
        "tools": [_LOOKUP_ORDER],
    }


def definition_bodies(gateway: str) -> list[dict[str, Any]]:
    """The bodies of `POST /api/v1/agentic-tests` for the demo's tests, against `gateway` (slug or id)."""
    return [_definition_body(story, gateway) for story in STORIES]


def _definition_body(story: Story, gateway: str) -> dict[str, Any]:
    lookups = [exchange.lookup for exchange in story.exchanges if exchange.lookup is not None]
    return {
        "name": story.name,
        "gateway": gateway,
        "goal": story.goal,
        "validation_criteria": story.criteria,
        "max_turns": story.max_turns,
        "loss_threshold": 0.2,
        "base_threshold": 0.9,
        "profile": "low",
        "seed": 7,
        "tool_mocks": [
            {
                "name": "lookup_order",
                "match": {"order_number": lookup.order_number},
                "result": lookup.result,
            }
            for lookup in lookups
        ],
    }
