"""Metrics, alerts, the dashboard, runbooks and bounds keep step with the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.registry import Collector

from parley.engine.spec import MAX_ATTEMPTS, MAX_REPLIES, MAX_ROUNDS
from parley.server.config import GROUPS, RunSettings, variable
from parley.server.definitions.schemas import Definition
from parley.server.telemetry.backlog import BacklogReader
from parley.server.telemetry.metrics import Metrics

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations"
PAGE = (OPERATIONS / "metrics.md").read_text()
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((OPERATIONS / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((OPERATIONS / "grafana-dashboard.json").read_text())
NOT_OURS = {"up"}
"""Made by Prometheus itself."""


def families() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Name, kind, meaning and labels of every metric, process's own ones included."""
    metrics = Metrics()
    metrics.registry.register(BacklogReader(None, None, ""))  # type: ignore[arg-type]
    labels: dict[str, tuple[str, ...]] = {}
    known: dict[Collector, list[str]] = metrics.registry._collector_to_names
    for collector, names in known.items():
        labels |= dict.fromkeys(names, getattr(collector, "_labelnames", ()))
    labels["parley_runs_open"] = ("state",)
    for family in metrics.registry.collect():
        yield family.name, family.type, family.documentation, labels.get(family.name, ())


FAMILIES = list(families())


def sample_names() -> set[str]:
    """Every name that a rule or a panel may ask for."""
    found: set[str] = set()
    for name, kind, _, _ in FAMILIES:
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        found.update(name + ending for ending in endings)
    return found


def asked(expression: str) -> set[str]:
    """The metrics that an expression names."""
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:parley|process|python)_[a-z_]+\b|\bup\b", bare))


def expressions() -> list[str]:
    """All of the dashboard."""
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]


def test_page_lists_every_metric_with_kind_meaning_and_labels() -> None:
    lines = {line.split("`")[1]: line for line in PAGE.splitlines() if line.startswith("| `parley_")}
    ours = [family for family in FAMILIES if family[0].startswith("parley_")]
    assert set(lines) == {name + ("_total" if kind == "counter" else "") for name, kind, _, _ in ours}
    for name, kind, meaning, labels in ours:
        line = lines[name + ("_total" if kind == "counter" else "")]
        assert f"| {kind} | {meaning} |" in line, name
        assert set(labels) <= set(re.findall(r"`([a-z_]+)`", line)), name


def test_nothing_is_labelled_by_whose_it_is() -> None:
    labels = {label for _, _, _, names in FAMILIES for label in names}
    assert labels == {
        "role", "outcome", "kind", "event", "how", "code", "action", "method", "route", "status", "state",
    }  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alert_asks_for_metrics_that_exist_and_has_its_runbook(rule: dict[str, Any]) -> None:
    assert asked(rule["expr"])
    assert asked(rule["expr"]) <= sample_names() | NOT_OURS
    assert rule["expr"].count("(") == rule["expr"].count(")")
    assert rule["labels"]["severity"] in ("page", "ticket")
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (.+)$", (OPERATIONS / page).read_text(), flags=re.MULTILINE)
    assert rule["alert"] in headings
    assert anchor == rule["alert"].lower()
    assert rule["annotations"]["summary"].endswith(".")


def test_every_runbook_has_its_alert_and_no_alert_stands_twice() -> None:
    headings = re.findall(r"^## (.+)$", (OPERATIONS / "runbooks.md").read_text(), flags=re.MULTILINE)
    assert sorted(headings) == sorted(rule["alert"] for rule in RULES)
    assert len(set(headings)) == len(headings)


def test_gauges_that_every_process_reads_are_never_added_up() -> None:
    shared = {name for name, _, _, _ in FAMILIES} & set(
        re.findall(r"`(parley_[a-z_]+)`", PAGE.partition("## What waits")[2])
    )
    assert len(shared) > 5
    for expression in [rule["expr"] for rule in RULES] + expressions():
        if asked(expression) & shared:
            assert re.match(r"(max|min)\b", expression), expression


def test_panels_ask_for_metrics_that_exist() -> None:
    assert len(expressions()) > 20
    for expression in expressions():
        assert asked(expression), expression
        assert asked(expression) <= sample_names(), expression
        assert expression.count("(") == expression.count(")")


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    shown = set().union(*map(asked, expressions()))
    missing = [
        name
        for name, kind, _, _ in FAMILIES
        if name.startswith("parley_") and not any(one.startswith(name) for one in shown)
    ]
    assert missing == []


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)


def test_operations_pages_name_only_settings_that_exist() -> None:
    known = {variable(group, name) for group in GROUPS for name in group.model_fields}
    for page in sorted(OPERATIONS.glob("*.*")):
        named = set(re.findall(r"\bPARLEY_[A-Z0-9_]*[A-Z0-9]\b", page.read_text()))
        own = {"PARLEY_PORT", "PARLEY_DEMO_EXIT", "PARLEY_LOCAL_POSTGRES_BIN", "PARLEY_LOCAL_VALKEY_BIN"}
        assert named <= known | own, page.name


def bound_of(field: str, kind: str) -> int:
    """A bound of a test's definition."""
    metadata = Definition.model_fields[field].metadata
    return next(int(getattr(one, kind)) for one in metadata if hasattr(one, kind))


def test_page_of_bounds_tells_how_many_entries_a_run_may_have() -> None:
    turns, hooks = bound_of("max_turns", "le"), bound_of("hooks", "max_length")
    spoken = MAX_REPLIES * MAX_ATTEMPTS + MAX_ROUNDS * MAX_ATTEMPTS + MAX_ATTEMPTS
    most = turns * (spoken + 3 * hooks) + hooks
    line = next(
        line for line in (OPERATIONS / "bounds.md").read_text().splitlines() if "entries of a run" in line
    )
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]
    assert numbers == [turns, MAX_ROUNDS, MAX_ATTEMPTS, MAX_REPLIES, hooks, RunSettings().most_entries]
    assert most <= RunSettings().most_entries


def test_every_bound_of_streams_and_bodies_is_on_the_page() -> None:
    page = (OPERATIONS / "bounds.md").read_text()
    bounds = [
        variable(group, name)
        for group in GROUPS
        for name in group.model_fields
        if re.search(r"(token|idle|inference|hook|resource|statement|pool)_timeout_s$", name)
        or re.search(r"max_bytes$|wall_time_s$|most_entries$|_streams$", name)
        or re.search(r"^concurrency$|^max_connections$|^pool_", name)
    ]
    assert len(bounds) > 12
    assert [name for name in bounds if name not in page] == []
