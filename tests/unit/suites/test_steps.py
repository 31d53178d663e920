"""What comes next for an evaluation that is carried out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.suites.steps import Standing, next_step


def standing(**more: Any) -> Standing:
    given: dict[str, Any] = {
        "state": "in_progress",
        "owed": 3,
        "open": 1,
        "open_runs": 1,
        "concurrency": 2,
        "spent_usd": Decimal("0.5"),
        "budget_usd": Decimal(1),
        "seed": 7,
    }
    return Standing(**given | more)


@pytest.mark.parametrize(
    ("step", "more"),
    [
        ("start", {}),
        ("start", {"budget_usd": None, "spent_usd": Decimal(1_000_000)}),
        ("wait", {"open": 2}),
        ("wait", {"open": 3}),
        ("stop", {"spent_usd": Decimal(1)}),
        ("stop", {"spent_usd": Decimal("1.000000001"), "open": 2}),
        ("start", {"spent_usd": Decimal("0.999999999")}),
        ("close", {"owed": 0}),
        ("close", {"owed": 0, "spent_usd": Decimal(2)}),
        ("wait", {"state": "scoring", "owed": 0}),
        ("cancel", {"state": "cancelled", "open": 0}),
        ("cancel", {"state": "expired", "open": 0}),
        ("let_go", {"state": "cancelled", "open": 0, "open_runs": 0}),
        ("let_go", {"state": "completed", "owed": 0, "open": 0, "open_runs": 0}),
    ],
)
def test_next_step(step: str, more: dict[str, Any]) -> None:
    assert next_step(standing(**more)) == step


@given(
    owed=st.integers(1, 50),
    budget=st.one_of(st.none(), st.decimals("0.01", "1", places=2)),
    price=st.decimals("0", "0.1", places=2),
    concurrency=st.integers(1, 5),
    ends=st.lists(st.integers(0, 5), max_size=60),
)
def test_every_evaluation_closes_within_its_bounds(
    owed: int, budget: Decimal | None, price: Decimal, concurrency: int, ends: list[int]
) -> None:
    """However runs end: never more open than asked for, and the budget is passed by what was open at most."""
    left, begun, running, turns = owed, 0, 0, iter(ends)
    while True:
        now = standing(
            owed=left,
            open=running,
            open_runs=running,
            concurrency=concurrency,
            spent_usd=price * (begun - running),
            budget_usd=budget,
        )
        step = next_step(now)
        assert running <= concurrency
        if step in ("close", "stop"):
            break
        if step == "start":
            left, begun, running = left - 1, begun + 1, running + 1
        else:
            running -= min(running, max(1, next(turns, 1)))
    assert (step == "close") == (left == 0)
    if budget is not None:
        assert price * begun < budget + price * concurrency or begun <= concurrency
