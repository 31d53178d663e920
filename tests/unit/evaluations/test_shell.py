from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from parley.server.evaluations.schemas import GateCheckReply, GateReply
from parley.server.evaluations.shell import in_camel_case, shell_gate

NOW, BEFORE = UUID(int=1), UUID(int=2)


def test_gate_is_told_in_the_names_of_the_shell_plane() -> None:
    check = GateCheckReply(
        check="fail-under", passed=True, threshold=Decimal(7), actual=Decimal("8.13"), detail="Fine."
    )
    reply = GateReply(
        evaluation_id=NOW,
        dataset_id=NOW,
        suite_id=None,
        average_rating=Decimal("8.13"),
        result_count=2,
        rated_count=2,
        failed_count=0,
        skipped_count=0,
        coverage=Decimal(1),
        baseline_id=BEFORE,
        baseline_average=Decimal(8),
        checks=[check],
        passed=True,
        verdict="passed",
        first_run=False,
        baseline="latest",
        note="A note.",
        recorded=False,
        gate_id=None,
    )
    assert shell_gate(reply) == {
        "runId": str(NOW),
        "datasetId": str(NOW),
        "averageRating": 8.13,
        "resultCount": 2,
        "ratedCount": 2,
        "failedCount": 0,
        "skippedCount": 0,
        "coverage": 1.0,
        "baselineRunId": str(BEFORE),
        "baselineAverage": 8.0,
        "checks": [
            {"check": "fail-under", "passed": True, "threshold": 7.0, "actual": 8.13, "detail": "Fine."}
        ],
        "passed": True,
        "verdict": "passed",
        "firstRun": False,
        "baseline": "latest",
        "note": "A note.",
        "recorded": False,
        "gateId": None,
    }


def test_names_change_and_values_do_not() -> None:
    told = {"case_id": "a_b", "repetition": 2, "index": 0, "pass_hat_k": [{"k": 1}], "runId": "x"}
    assert in_camel_case(told) == {
        "caseId": "a_b",
        "runNumber": 2,
        "questionIndex": 0,
        "passHatK": [{"k": 1}],
        "runId": "x",
    }
