"""The pytest plugin: `@pytest.mark.parley(test="A return is free", repetitions=5, min_pass_rate=0.8)`.

A marked test runs the agentic test of that id or name; too few successes fail it, and what could not be
carried out is an error rather than a failure. The fixture `parley_runs` has the runs for further looks.
Everything is imported by the test that needs it: a project that only has this installed pays nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from parley.sdk.trials import Trials

MARKER = "parley"
FIXTURE = "parley_runs"
MOST_REPETITIONS = 100
"""More are a typing error, and would cost money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a marker asks for. Raises `ValueError` and `TypeError` for what it cannot mean."""

    test: str
    repetitions: int = 1
    min_pass_rate: float = 1.0
    min_coverage: float = 1.0

    def __post_init__(self) -> None:
        shares = (self.min_pass_rate, self.min_coverage)
        if not 1 <= self.repetitions <= MOST_REPETITIONS or not all(0 <= share <= 1 for share in shares):
            raise ValueError
        # A marker is not checked by anybody else.
        given: object = self.test
        if not isinstance(given, str):
            raise TypeError


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "parley(test, repetitions=1, min_pass_rate=1.0, min_coverage=1.0): run the agentic test of this id "
        "or name so often; fail below the share of successes.",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test has its runs, whether it looks at them or not."""
    if isinstance(item, pytest.Function) and item.get_closest_marker(MARKER):
        _wish(item)
        if FIXTURE not in item.fixturenames:
            item.fixturenames.append(FIXTURE)


@pytest.fixture
def parley_runs(request: pytest.FixtureRequest) -> Trials:
    """The runs of a test marked with `parley`, all of them ended."""
    from parley.sdk.client import Client
    from parley.sdk.errors import ParleyError
    from parley.sdk.harmless import harmless
    from parley.sdk.trials import run_repeatedly

    wish = _wish(request.node)
    try:
        with Client() as client:
            trials = run_repeatedly(client, wish.test, wish.repetitions)
        request.node.user_properties.extend(("parley_run", run.id) for run in trials.runs)
        trials.require_coverage(wish.min_coverage)
    except ParleyError as error:
        problem = harmless(str(error))
    else:
        return trials
    # Our own frames, and the error behind it as it came, would tell a reader of this test nothing.
    pytest.fail(problem, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a marked test whose agent succeeds too seldom, before its body looks closer."""
    if pyfuncitem.get_closest_marker(MARKER):
        from parley.sdk.harmless import harmless

        trials = cast("Trials", pyfuncitem.funcargs[FIXTURE])
        problem = ""
        try:
            trials.require_pass_rate(_wish(pyfuncitem).min_pass_rate)
        except AssertionError as error:
            problem = harmless(str(error))
        if problem:
            pytest.fail(problem, pytrace=False)
    return (yield)


def _wish(item: pytest.Item) -> Wish:
    """What the marker says. Raises `UsageError` for what it cannot mean."""
    marker = item.get_closest_marker(MARKER)
    try:
        return Wish(*marker.args, **marker.kwargs)  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError) as error:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.parley takes test=, repetitions= (1..{MOST_REPETITIONS}), "
            "min_pass_rate= and min_coverage= (0..1)."
        ) from error
