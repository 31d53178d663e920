"""A notification in words that fit a phone: what, which test, since when; then why; then where. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from parley.server.notifications.facts import AboutGate, Facts, NewsKind

MOST_NAME_CHARS: Final = 60
MOST_REASON_CHARS: Final = 300
"""Names and reasons are cut, so that what happened stays on the first screen."""

# Control characters and line breaks of every kind, and what turns the direction of the text around it.
_UNSEEN = re.compile("[\x00-\x20\x7f-\xa0\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")
_MENTION = re.compile(r"@(?=\w)")
_OUTCOMES = {
    "success": "the goal was reached",
    "loss": "the judge gave it up",
    "incomplete": "it ended before success or loss",
    "interrupted": "a hook ended it",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What a reader gets: a title that says it all, a few lines, and where to look."""

    title: str
    lines: tuple[str, ...]
    url: str | None

    @property
    def text(self) -> str:
        """The whole as plain text."""
        return "\n".join((self.title, *self.lines, *((self.url,) if self.url else ())))


def worded(kind: NewsKind, facts: Facts, public_url: str) -> Message:
    """The message. `public_url` is where people reach the service; empty: there is no link."""
    return Message(_title(kind, facts), tuple(_lines(kind, facts)), _url(facts, public_url))


def slack_text(message: Message) -> str:
    """The same for a chat: its control characters are escaped, and nobody is called by an @."""
    escaped = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MENTION.sub("@\u200b", escaped)


def one_line(text: str, most_chars: int) -> str:
    """`text` on one line, without what cannot be seen, cut at `most_chars` characters."""
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= most_chars else line[: most_chars - 1].rstrip() + "\u2026"


def _title(kind: NewsKind, facts: Facts) -> str:
    name = one_line(facts.test.name, MOST_NAME_CHARS) if facts.test else ""
    since = _minute(facts.since) if facts.since else ""
    outcome = facts.run.outcome if facts.run else None
    match kind:
        case "test.failing":
            if facts.failures == 1:
                return f"{name}: a run failed, {since}"
            return f"{name}: {facts.failures} runs in a row failed, since {since}"
        case "test.recovered":
            return f"{name}: runs again; {_failed_runs(facts)} since {since}"
        case "behaviour.lost":
            return f"{name}: was success, now {outcome}, since {since}"
        case "behaviour.regained":
            return f"{name}: success again; was {facts.previous_outcome}, first told {since}"
        case "gate.failed":
            return _gate_title(facts.gate) if facts.gate else "A gate failed"
        case "channel.test":
            return "Parley: this is a test message"


def _gate_title(gate: AboutGate) -> str:
    where = f" on {one_line(gate.branch, MOST_NAME_CHARS)}" if gate.branch else ""
    return f"{one_line(gate.name, MOST_NAME_CHARS)}: gate failed{where}, {_minute(gate.at)}"


def _failed_runs(facts: Facts) -> str:
    return "a run had failed" if facts.failures == 1 else f"{facts.failures} runs had failed"


def _lines(kind: NewsKind, facts: Facts) -> list[str]:
    lines = []
    if kind == "channel.test":
        lines.append("Alerts of your tests will arrive here.")
    elif facts.gate:
        lines += [f"Why: {one_line(detail, MOST_REASON_CHARS)}" for detail in facts.gate.details]
        if facts.gate.commit:
            lines.append(f"Commit: {one_line(facts.gate.commit, MOST_NAME_CHARS)}")
    elif facts.run and facts.run.error:
        reason = one_line(facts.run.error.message, MOST_REASON_CHARS)
        lines.append(f"Why: {reason} ({one_line(facts.run.error.code, MOST_NAME_CHARS)})")
    elif facts.run and facts.run.outcome:
        meaning = _OUTCOMES.get(facts.run.outcome)
        lines.append(f"Last outcome: {facts.run.outcome}" + (f" ({meaning})." if meaning else "."))
    lines.append(f"Account: {one_line(facts.account, MOST_NAME_CHARS)}")
    return lines


def _url(facts: Facts, public_url: str) -> str | None:
    if public_url and facts.gate is not None:
        return f"{public_url.rstrip('/')}/evaluations/{facts.gate.evaluation_id}"
    if not public_url or facts.test is None or facts.run is None:
        return None
    return f"{public_url.rstrip('/')}/tests/{facts.test.id}/runs/{facts.run.id}"


def _minute(moment: datetime) -> str:
    there = moment.astimezone(UTC)
    return f"{there.day} {there:%b %Y %H:%M} UTC"
