"""What a judge said about one criterion, read strictly: a verdict, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parley.engine.blank import is_blank
from parley.engine.judging.claims import ClaimUnreadable, claims
from parley.engine.script.plain import NotPlain, plain

MAX_CHARS = 200_000
"""Longer replies are not read: many times what a judge writes, and a bound on the work."""
MAX_QUOTES = 50
"""Quotes of one verdict; more of them prove nothing more."""
_VERDICT = frozenset({"passed", "reason", "evidence"})
_INCONCLUSIVE = frozenset({"inconclusive", "reason"})
_KEYS = _VERDICT | _INCONCLUSIVE


class VerdictUnreadable(Exception):
    """No verdict can be taken from an answer. `problem` tells the judge and the reader what was wrong."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided. `passed` is None when the judge found the evidence inconclusive."""

    passed: bool | None
    reason: str
    quotes: tuple[str, ...] = ()


def read_verdict(answer: object) -> Verdict:
    """The verdict in `answer`: an object, or an llm's reply that holds exactly one.

    Raises `VerdictUnreadable`, and nothing else. A reply may be fenced, stand amid prose or think in
    tags; several verdicts that differ, other keys, and anything but true and false for `passed` are
    refused: asking again is cheap and a wrong verdict is not.
    """
    if isinstance(answer, str):
        return _read_reply(answer)
    if isinstance(answer, Mapping):
        return _read_claim(_plain(answer))
    raise VerdictUnreadable(f"The answer was {type(answer).__name__}, neither an object nor text.")


def _plain(answer: Mapping[str, Any]) -> dict[str, Any]:
    try:
        claim: dict[str, Any] = plain(dict(answer))
    except NotPlain as error:
        raise VerdictUnreadable(f"The answer is no JSON object: {error.problem}.") from None
    return claim


def _read_reply(text: str) -> Verdict:
    if is_blank(text):
        raise VerdictUnreadable("The reply was empty.")
    if len(text) > MAX_CHARS:
        raise VerdictUnreadable("The reply was far too long.")
    try:
        found = [_read_claim(_plain(claim)) for claim in claims(text, _KEYS)]
    except ClaimUnreadable as unreadable:
        raise VerdictUnreadable(unreadable.problem) from None
    if not found:
        raise VerdictUnreadable('The reply held no JSON object with "passed" or "inconclusive".')
    if any(other != found[0] for other in found):
        raise VerdictUnreadable("The reply held several verdicts that differ.")
    return found[0]


def _read_claim(claim: Mapping[str, Any]) -> Verdict:
    is_inconclusive = "inconclusive" in claim
    wanted = _INCONCLUSIVE if is_inconclusive else _VERDICT
    if set(claim) != wanted:
        names = ", ".join(f'"{name}"' for name in sorted(wanted))
        raise VerdictUnreadable(f"The object must have exactly the keys {names}.")
    reason = claim["reason"]
    if not isinstance(reason, str) or is_blank(reason):
        raise VerdictUnreadable('"reason" must be a text that says something.')
    if is_inconclusive:
        if claim["inconclusive"] is not True:
            raise VerdictUnreadable('"inconclusive" must be true, or not be there at all.')
        return Verdict(passed=None, reason=reason)
    if not isinstance(claim["passed"], bool):
        raise VerdictUnreadable('"passed" must be true or false.')
    return Verdict(passed=claim["passed"], reason=reason, quotes=_quotes(claim["evidence"]))


def _quotes(evidence: object) -> tuple[str, ...]:
    if not isinstance(evidence, list) or not all(isinstance(quote, str) for quote in evidence):
        raise VerdictUnreadable('"evidence" must be a list of texts.')
    if len(evidence) > MAX_QUOTES:
        raise VerdictUnreadable(f'"evidence" must have at most {MAX_QUOTES} quotes.')
    return tuple(evidence)
