"""What a run of the harness says."""

from __future__ import annotations

from collections import Counter

from tests.e2e.faults.run import Order, Outcome


def plan(order: Order) -> str:
    """What is going to happen, printed before it does."""
    lines = [
        f"seed {order.seed}: {order.conversations} conversations over {order.seconds:.0f} s, "
        f"{len(order.faults)} faults" + (f", planted: {order.plant}" if order.plant else "")
    ]
    return "\n".join([*lines, *(f"  {fault}" for fault in order.faults)])


def text(outcome: Outcome) -> str:
    """The outcome for people."""
    seen = outcome.seen
    ends = Counter(run.frames[-1].type if run.is_over else "none" for run in seen.runs)
    broke = sum(stream.broke for stream in seen.directs)
    streams = sum(run.connections for run in seen.runs)
    answers = ", ".join(f"{status}: {count}" for status, count in sorted(seen.answers.items()))
    left = outcome.slowest_leaving
    lines = [
        f"injected: {len(outcome.struck)} faults, {_kinds(outcome)}",
        f"seen: {len(seen.runs)} runs over {streams} streams ({dict(ends)})",
        f"      {len(seen.directs)} direct evaluations ({broke} lost)",
        f"      answers {answers}; {seen.lost_requests} lost, slowest to a POST {seen.slowest_s:.1f} s",
        f"runs: {outcome.takeovers} takeovers, longest wait for an entry {_longest(outcome)}",
        f"stops: the slowest was {left.name}, gone after {left.took_s:.1f} s" if left else "stops: none",
        "checked:",
        *map(str, outcome.checks),
        f"{'HOLDS' if outcome.holds else 'BROKEN'}: seed {outcome.order.seed}, {outcome.took_s:.0f} s",
    ]
    return "\n".join(lines)


def row(outcome: Outcome) -> str:
    """The outcome as a line of the table in docs/operations/chaos.md."""
    looked_at = sum(check.looked_at for check in outcome.checks)
    cells = (
        outcome.order.seed,
        len(outcome.struck),
        len(outcome.seen.runs),
        len(outcome.seen.directs),
        sum(run.connections for run in outcome.seen.runs),
        outcome.takeovers,
        f"{outcome.longest_wait.whole_s if outcome.longest_wait else 0:.1f} s",
        looked_at,
        "holds" if outcome.holds else "broken",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _longest(outcome: Outcome) -> str:
    wait = outcome.longest_wait
    if wait is None:
        return "none"
    met = ", ".join(wait.met(outcome.strikes)) or "nothing"
    free_s = wait.undisturbed_s(outcome.strikes)
    return f"{wait.whole_s:.1f} s, {free_s:.1f} s of it while nothing was broken; it met {met}"


def _kinds(outcome: Outcome) -> str:
    kinds = Counter(fault.kind for _, fault in outcome.struck)
    return ", ".join(f"{name} {count}" for name, count in sorted(kinds.items()))
