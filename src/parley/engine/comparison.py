"""Two evaluations side by side: what pairs, what moved, and when they cannot be compared at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from parley.engine.stats.graded import FrozenCase, Graded
from parley.engine.stats.intervals import Interval, bootstrap_mean
from parley.engine.stats.mcnemar import mcnemar
from parley.engine.stats.results import CaseScores, mean_of
from parley.engine.stats.sensitivity import SmallestDifference, from_pairs
from parley.engine.stats.signed_rank import SignedRank, signed_rank

CaseClass: TypeAlias = Literal[
    "improved", "regressed", "unchanged", "new", "missing", "changed", "inconclusive"
]
What: TypeAlias = Literal["subject", "grader", "split", "cases"]

CASE_MARGIN = Fraction(1, 2)
"""A case whose mean moves by more than this (0..10) improved or regressed: the gate's usual tolerance."""
CLEAR_SHARE = Fraction(3, 4)
"""Share of pairings of a repetition before with one now that must point one way where both are repeated."""

_APART: tuple[CaseClass, ...] = ("changed", "new", "missing")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which two evaluations differ beside their results."""

    what: What
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCase:
    """One case on both sides: means 0..10 and shares of repetitions that passed, None where there is none."""

    case_id: str
    index: int
    name: str
    kind: CaseClass
    rating_was: Fraction | None
    rating_is: Fraction | None
    passed_was: Fraction | None
    passed_is: Fraction | None
    detail: str | None

    @property
    def delta(self) -> Fraction | None:
        """How far the mean moved, None unless the case pairs and both sides have a rating."""
        if self.kind in _APART or self.rating_was is None or self.rating_is is None:
            return None
        return self.rating_is - self.rating_was


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The cases of two evaluations, without statistics. `refused` tells that deltas would mean nothing."""

    differences: tuple[Difference, ...]
    refused: bool
    cases: tuple[ComparedCase, ...]

    @property
    def deltas(self) -> list[Fraction]:
        """The differences of paired case means, in the order of the cases; empty if refused."""
        return [] if self.refused else [case.delta for case in self.cases if case.delta is not None]

    def count(self, kind: CaseClass) -> int:
        """How many cases are of `kind`."""
        return sum(case.kind == kind for case in self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A pairing with what it shows. `delta`, `interval` and `test` are None if it was refused.

    `fell` and `rose` count paired cases whose verdict changed, `verdicts_p` is McNemar's two-sided p.
    """

    pairing: Pairing
    delta: Fraction | None
    interval: Interval | None
    test: SignedRank | None
    fell: int
    rose: int
    verdicts_p: float
    smallest_difference: SmallestDifference


def compare(now: Graded, before: Graded) -> Comparison:
    """What changed from `before` to `now`. The same two evaluations always give the same answer."""
    pairing = pair(now, before)
    deltas = pairing.deltas
    fell, rose = _flips(pairing)
    return Comparison(
        pairing=pairing,
        delta=mean_of(deltas),
        interval=bootstrap_mean(deltas, f"{before.evaluation_id}/{now.evaluation_id}"),
        test=signed_rank(deltas) if deltas else None,
        fell=fell,
        rose=rose,
        verdicts_p=mcnemar(fell, rose),
        smallest_difference=from_pairs(deltas),
    )


def pair(now: Graded, before: Graded) -> Pairing:
    """The cases of both, paired by id and content hash, and what else differs."""
    differences = _differences(now, before)
    old = {case.case_id: case for case in before.cases}
    cases = [_compared(case, old.pop(case.case_id, None), now, before) for case in now.cases]
    cases += [_missing(case, before) for case in old.values()]
    found = Counter(case.kind for case in cases)
    apart = _cases_apart(found)
    if not any(case.delta is not None or case.kind == "inconclusive" for case in cases):
        apart = [Difference("cases", "No case is in both with the same content, grader and target.")]
        return Pairing(differences=(*differences, *apart), refused=True, cases=tuple(cases))
    return Pairing(differences=(*differences, *apart), refused=bool(differences), cases=tuple(cases))


def _differences(now: Graded, before: Graded) -> list[Difference]:
    """What makes a comparison of the two meaningless."""
    found = []
    if now.subject != before.subject:
        found.append(Difference("subject", "They are of different datasets or suites."))
    if now.grading_hash != before.grading_hash:
        found.append(
            Difference(
                "grader", "They were graded differently: prompt, llm, settings, criteria or pass mark."
            )
        )
    if now.split != before.split:
        found.append(Difference("split", f"One ran {_split(before)}, the other {_split(now)}."))
    return found


def _split(graded: Graded) -> str:
    return "all cases" if graded.split is None else f"the split {graded.split!r}"


def _cases_apart(found: Counter[CaseClass]) -> list[Difference]:
    told = [f"{found[kind]} {kind}" for kind in _APART if found[kind]]
    return [Difference("cases", f"Cases that do not pair: {', '.join(told)}.")] if told else []


def _compared(case: FrozenCase, old: FrozenCase | None, now: Graded, before: Graded) -> ComparedCase:
    scores = now.scores.get(case.case_id, _NONE)
    if old is None:
        return _case(case, "new", _NONE, scores, None)
    former = before.scores.get(old.case_id, _NONE)
    apart = _changed(case, old, now, before)
    if apart:
        return _case(case, "changed", former, scores, f"Differs in {', '.join(apart)}.")
    kind, detail = classify(former, scores)
    return _case(case, kind, former, scores, detail)


def _changed(case: FrozenCase, old: FrozenCase, now: Graded, before: Graded) -> list[str]:
    hashes = {
        "content": (case.content_hash, old.content_hash),
        "grader": ((now.grading_hash, case.grader_hash), (before.grading_hash, old.grader_hash)),
        "target": (case.target_hash, old.target_hash),
    }
    return [name for name, (one, other) in hashes.items() if one != other]


def classify(before: CaseScores, now: CaseScores) -> tuple[CaseClass, str | None]:
    """How one paired case moved, and why where that is not plain from its figures."""
    if before.mean is None or now.mean is None:
        side = "before" if before.mean is None else "now"
        return "inconclusive", f"It has no rating {side}."
    moved = _moved(now.mean - before.mean)
    flipped = _passes(now) - _passes(before)
    if moved and flipped and moved != flipped:
        return "inconclusive", "Its rating and its verdict moved in opposite directions."
    direction = moved or flipped
    if not direction:
        return "unchanged", None
    if not _is_clear(before.scores, now.scores, direction):
        return "inconclusive", "Its repetitions overlap too much to tell."
    return ("improved" if direction > 0 else "regressed"), None


def _moved(delta: Fraction) -> int:
    return 0 if abs(delta) <= CASE_MARGIN else 1 if delta > 0 else -1


def _passes(scores: CaseScores) -> bool:
    """Whether most repetitions passed; exactly half did not."""
    return 2 * sum(scores.verdicts) > len(scores.verdicts)


def _is_clear(before: Sequence[Fraction], now: Sequence[Fraction], direction: int) -> bool:
    """Whether enough pairings of repetitions point in `direction`; ties count half for it."""
    if len(before) < 2 or len(now) < 2:
        return True
    twice = sum(1 + _sign((new - old) * direction) for old in before for new in now)
    return Fraction(twice, 2 * len(before) * len(now)) >= CLEAR_SHARE


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _missing(case: FrozenCase, before: Graded) -> ComparedCase:
    return _case(case, "missing", before.scores.get(case.case_id, _NONE), _NONE, None)


def _case(
    case: FrozenCase, kind: CaseClass, before: CaseScores, now: CaseScores, detail: str | None
) -> ComparedCase:
    return ComparedCase(
        case_id=case.case_id,
        index=case.index,
        name=case.name,
        kind=kind,
        rating_was=before.mean,
        rating_is=now.mean,
        passed_was=before.share_passed,
        passed_is=now.share_passed,
        detail=detail,
    )


def _flips(pairing: Pairing) -> tuple[int, int]:
    """How many paired cases passed before only, and now only."""
    pairs = [
        (2 * case.passed_was > 1, 2 * case.passed_is > 1)
        for case in pairing.cases
        if not pairing.refused and case.delta is not None
        if case.passed_was is not None and case.passed_is is not None
    ]
    return sum(was and not now for was, now in pairs), sum(now and not was for was, now in pairs)


_NONE = CaseScores("", (), ())
