"""What a person wants to know of an attempt: the first things that went wrong, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from parley.engine.script.record import UNKNOWN, AttemptRecord, RunRecord, StepRecord
from parley.engine.script.status import RANKED, Counts
from parley.sdk.reporting.sheet import Line, Mark, Sheet, Verdict

_MARKS: dict[str, Mark] = {"passed": "passed", "failed": "failed"}
_VERDICTS: dict[str, Verdict] = {"passed": "passed", "failed": "failed", "error": "failed"}


def name_of(attempt: AttemptRecord, *, numbered: bool = True) -> str:
    """The case, and which repetition where there are several."""
    return f"{attempt.case_id} #{attempt.repetition}" if numbered else attempt.case_id


def lines_of(attempt: AttemptRecord) -> list[str]:
    """A headline and a line for each thing that is not as it should be."""
    head = f"{attempt.status}: {attempt.suite_id}/{name_of(attempt)}"
    return [head, *(f"  {reason}" for reason in reasons(attempt))]


def reasons(attempt: AttemptRecord) -> Iterator[str]:
    """Why an attempt did not pass, in order.

    Words that are private to the owner have a line of their own: give `attempt.public()` where others read.
    """
    for step in attempt.steps:
        yield from _step_reasons(step)
    if attempt.verification and not attempt.verification.passed:
        yield f"verify: {attempt.verification.reason}"
    for error in attempt.errors:
        where = "" if error.step_index is None else f"step {error.step_index + 1}, "
        known = f" [{error.diagnostic_id}]" if error.diagnostic_id else ""
        yield f"{where}{error.phase}: {error.message} ({error.code}){known}"
        if error.private:
            yield f"  {error.private.strip().splitlines()[-1]}"


def _step_reasons(step: StepRecord) -> Iterator[str]:
    for check in step.checks:
        if not check.passed:
            yield f"step {step.index + 1}, {check.check}: {check.detail}"
    for criterion in step.criteria:
        if criterion.status in ("failed", "inconclusive", "ungraded"):
            invented = sum(not quote.found for quote in criterion.quotes)
            doubt = f" ({invented} invented quote(s))" if invented else ""
            yield f"step {step.index + 1}, {criterion.status}: {criterion.text} {criterion.reason}{doubt}"


def sheet_of(records: list[RunRecord]) -> Sheet:
    """The runs as a report, without what is private: pipelines show reports to many people."""
    lines = [
        Line(
            name=f"{attempt.suite_id}/{name_of(attempt, numbered=_is_repeated(record))}",
            mark=_MARKS.get(attempt.status, "error"),
            text="\n".join(reasons(attempt.public())),
            seconds=attempt.duration_ms / 1000,
        )
        for record in records
        for attempt in record.attempts
    ]
    return Sheet(title="scripted suites", verdict=_verdict(records), lines=lines)


def summary(record: RunRecord) -> str:
    """A run in a line."""
    unknown = [name for name in ("commit", "app_version") if getattr(record, name) == UNKNOWN]
    doubt = f" ({' and '.join(unknown).replace('_', ' ')} unknown)" if unknown else ""
    return f"{record.suite_id}: {_told(record.counts)}, {record.duration_ms / 1000:.1f} s{doubt}"


def _told(counts: Counts) -> str:
    named = [f"{getattr(counts, status)} {status}" for status in reversed(RANKED) if getattr(counts, status)]
    return ", ".join(named)


def _is_repeated(record: RunRecord) -> bool:
    return any(attempt.repetition > 1 for attempt in record.attempts)


def _verdict(records: list[RunRecord]) -> Verdict:
    verdicts = {_VERDICTS.get(record.status, "inconclusive") for record in records}
    return "failed" if "failed" in verdicts else "inconclusive" if "inconclusive" in verdicts else "passed"
