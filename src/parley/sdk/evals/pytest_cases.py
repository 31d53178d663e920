"""Each case of a suite as a test of pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parley.engine.script.record import RunRecord
from parley.sdk.evals.telling import lines_of
from parley.sdk.harmless import harmless

if TYPE_CHECKING:
    from parley.sdk.evals.evals import Evals


def case_tests(evals: Evals, *, split: str | None = None, **options: Any) -> Callable[..., None]:
    """A test for each case; assign it to a name that begins with `test_`.

    `options` go to `evals.run`, such as `repetitions=3` or `judge="service"`. A case passes when all of
    its attempts do.
    """
    import pytest

    chosen = [
        pytest.param(suite.id, case.id, id=f"{suite.id}-{case.id}")
        for suite in evals.list_suites()
        for case in suite.cases
        if split is None or split in case.splits
    ]

    @pytest.mark.parametrize(("suite_id", "case_id"), chosen)
    def test_case(suite_id: str, case_id: str) -> None:
        record = evals.run_sync(suite_id=suite_id, case_ids=[case_id], **options)
        if record.status != "passed":
            pytest.fail(_told(record), pytrace=False)

    return test_case


def _told(record: RunRecord) -> str:
    bad = [attempt for attempt in record.attempts if attempt.status != "passed"]
    return harmless("\n".join(line for attempt in bad for line in lines_of(attempt)))
