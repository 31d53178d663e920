"""An evaluation as comparison and gate see it: frozen cases, their results, and what they were graded by."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from parley.engine.stats.results import CaseResult, CaseScores, Counts, counts_of, mean_of, scores_by_case


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCase:
    """A case as it was when the evaluation began.

    `case_id` stays the same as its content changes; `index` and `name` are for display. `grader_hash` and
    `target_hash` tell what is particular to the case, None where the evaluation as a whole tells it.
    """

    case_id: str
    index: int
    name: str
    content_hash: str
    grader_hash: str | None = None
    target_hash: str | None = None


@dataclass(frozen=True, kw_only=True)
class Graded:
    """One evaluation. `subject` is its dataset or suite.

    `grading_hash` tells the settings by content and the pass mark. Evaluations are of one line if subject,
    grading hash and split agree.
    """

    evaluation_id: str
    subject: str
    grading_hash: str
    split: str | None
    repetitions: int
    cases: tuple[FrozenCase, ...]
    results: tuple[CaseResult, ...]
    expected_count: int | None = None
    """How many results there should be; None where every case is repeated alike."""

    @property
    def expected(self) -> int:
        """How many results there should be."""
        return len(self.cases) * self.repetitions if self.expected_count is None else self.expected_count

    @cached_property
    def counts(self) -> Counts:
        """How many results there are of each kind."""
        return counts_of(self.results, self.expected)

    @cached_property
    def scores(self) -> dict[str, CaseScores]:
        """The results that count, by case id."""
        return {case.case_id: case for case in scores_by_case(self.results)}

    @cached_property
    def average(self) -> Fraction | None:
        """The mean over all results that count, None without any."""
        return mean_of([score for case in self.scores.values() for score in case.scores])

    @cached_property
    def pass_rate(self) -> Fraction | None:
        """The share of results that count which passed, None without any."""
        verdicts = [verdict for case in self.scores.values() for verdict in case.verdicts]
        return Fraction(sum(verdicts), len(verdicts)) if verdicts else None
