"""The checks of a gate as options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

if TYPE_CHECKING:
    from parley.sdk.calls.evaluations import GateChecks

_CHECKS = "Checks"

FailUnder: TypeAlias = Annotated[
    float | None,
    typer.Option(help="The mean rating is at least this, 0..10.", min=0, max=10, rich_help_panel=_CHECKS),
]
NoRegression: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-regression", help="The mean rating fell by at most the tolerance.", rich_help_panel=_CHECKS
    ),
]
Tolerance: TypeAlias = Annotated[
    float | None, typer.Option(help="For --no-regression; 0.5.", min=0, rich_help_panel=_CHECKS)
]
MinPassRate: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Share of results that pass, 0..1.", min=0, max=1, rich_help_panel=_CHECKS),
]
MaxRegressed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-regressed-cases", help="Cases worse than in the baseline.", min=0, rich_help_panel=_CHECKS
    ),
]
MinCoverage: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Share of cases with a result, 0..1; 1.", min=0, max=1, rich_help_panel=_CHECKS),
]
Significance: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Fail if a fall is this unlikely by chance, 0.001..0.5.",
        min=0.001,
        max=0.5,
        rich_help_panel=_CHECKS,
    ),
]
Baseline: TypeAlias = Annotated[
    str | None,
    typer.Option(help="latest, latest-passing, pinned, or an id.", rich_help_panel=_CHECKS),
]
Record: TypeAlias = Annotated[bool, typer.Option("--record", help="Keep the answer in the history.")]
CallerName: TypeAlias = Annotated[
    str | None, typer.Option("--caller", help="Who asks, for the history; at most 60 characters.")
]


def asked(**options: Any) -> GateChecks:
    """The options that were given."""
    return cast(
        "GateChecks",
        {name: value for name, value in options.items() if value is not None and value is not False},
    )


def has_checks(checks: GateChecks) -> bool:
    """Whether anything is checked."""
    return bool(set(checks) - {"record", "caller", "baseline", "tolerance"})
