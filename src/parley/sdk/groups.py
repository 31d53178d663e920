"""The groups of calls that both clients have. Each is loaded when it is first used: their answers are
pydantic models, and making those takes longer than all the rest of a client."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from parley.sdk.async_driver import AsyncDriver
    from parley.sdk.calls.account import Account, Gateways
    from parley.sdk.calls.agentic_tests import Runs, Tests
    from parley.sdk.calls.datasets import DatasetRuns, Datasets, Grading
    from parley.sdk.calls.evaluations import Evaluations, Suites
    from parley.sdk.sync_driver import SyncDriver

D = TypeVar("D", bound="SyncDriver | AsyncDriver")


class Groups(Generic[D]):
    """What a client offers, carried out by its `driver`."""

    def __init__(self, driver: D) -> None:
        self._driver = driver

    @cached_property
    def account(self) -> Account[D]:
        """Who calls, limits, balance."""
        from parley.sdk.calls.account import Account

        return Account(self._driver)

    @cached_property
    def gateways(self) -> Gateways[D]:
        """Systems under test."""
        from parley.sdk.calls.account import Gateways

        return Gateways(self._driver)

    @cached_property
    def tests(self) -> Tests[D]:
        """Agentic tests."""
        from parley.sdk.calls.agentic_tests import Tests

        return Tests(self._driver)

    @cached_property
    def runs(self) -> Runs[D]:
        """Runs of agentic tests."""
        from parley.sdk.calls.agentic_tests import Runs

        return Runs(self._driver)

    @cached_property
    def evaluations(self) -> Evaluations[D]:
        """Evaluations of datasets and suites."""
        from parley.sdk.calls.evaluations import Evaluations

        return Evaluations(self._driver)

    @cached_property
    def suites(self) -> Suites[D]:
        """Suites."""
        from parley.sdk.calls.evaluations import Suites

        return Suites(self._driver)

    @cached_property
    def datasets(self) -> Datasets[D]:
        """Datasets of custom evaluations."""
        from parley.sdk.calls.datasets import Datasets

        return Datasets(self._driver)

    @cached_property
    def grading(self) -> Grading[D]:
        """Evaluation settings."""
        from parley.sdk.calls.datasets import Grading

        return Grading(self._driver)

    @cached_property
    def dataset_runs(self) -> DatasetRuns[D]:
        """Runs of datasets."""
        from parley.sdk.calls.datasets import DatasetRuns

        return DatasetRuns(self._driver)
