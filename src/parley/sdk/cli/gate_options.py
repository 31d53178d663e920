"""The checks of a gate as options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
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


OPTIONS: dict[str, tuple[Any, Any]] = {
    "fail_under": (FailUnder, None),
    "no_regression": (NoRegression, False),
    "tolerance": (Tolerance, None),
    "min_pass_rate": (MinPassRate, None),
    "max_regressed_cases": (MaxRegressed, None),
    "min_coverage": (MinCoverage, None),
    "significance": (Significance, None),
    "baseline": (Baseline, None),
    "record": (Record, False),
    "caller": (CallerName, None),
}
"""Every option by the name of its check, with its kind and its default; in the order of the help."""


def with_checks(command: Callable[..., None]) -> Callable[..., None]:
    """`command`, with an option for each check in the place of its parameter `checks`."""
    plain = inspect.signature(command, eval_str=True, globals=_globals_of(command))

    @functools.wraps(command)
    def checked(**given: Any) -> None:
        checks = asked(**{name: given.pop(name) for name in OPTIONS})
        command(**given, checks=checks)

    parameters = [kept for one in plain.parameters.values() for kept in _options_for(one)]
    checked.__signature__ = plain.replace(parameters=parameters)  # type: ignore[attr-defined]
    checked.__annotations__ = {one.name: one.annotation for one in parameters}
    return checked


def _options_for(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    if parameter.name != "checks":
        return [parameter]
    return [
        parameter.replace(name=name, annotation=kind, default=default)
        for name, (kind, default) in OPTIONS.items()
    ]


def _globals_of(command: Callable[..., None]) -> dict[str, Any]:
    """What a command's annotations name; those of `checks` are loaded for type checkers alone."""
    return {**getattr(command, "__globals__", {}), "GateChecks": dict}


def asked(**options: Any) -> GateChecks:
    """The options that were given."""
    return cast(
        "GateChecks",
        {name: value for name, value in options.items() if value is not None and value is not False},
    )


def has_checks(checks: GateChecks) -> bool:
    """Whether anything is checked."""
    return bool(set(checks) - {"record", "caller", "baseline", "tolerance"})
