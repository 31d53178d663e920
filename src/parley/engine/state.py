"""Where a conversation stands: the fold of its entries, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from parley.engine.events import (
    AssistantSpoke,
    Ended,
    Entry,
    HookCalled,
    Opinion,
    Spent,
    UserSpoke,
)
from parley.engine.talk import Exchange

RESPONSE_FORMAT_REFUSED = "response_format_refused"
"""Code of the judge attempt after which the schema is only stated in the prompt."""
OPINION_CODES = "opinion_"
"""How the codes of opinions that cannot be read begin; other faults are none of the judge's making."""
WORKER_LOST = "worker_lost"
"""Code of the entry a worker leaves when it takes over from one that died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The fold of a conversation's entries.

    `faults` and `rejections` concern the step under way: failed attempts at its reply or opinion, and
    the codes of complete replies that were turned down. `problem` is what was wrong with the judge's
    last complete reply at this step. `takeovers` counts workers lost since the last entry
    that was progress.
    """

    seq: int = 0
    turn: int = 0
    exchanges: tuple[Exchange, ...] = ()
    faults: int = 0
    rejections: tuple[str, ...] = ()
    problem: str | None = None
    last_spent: Spent | None = None
    schema_refused: bool = False
    hooks: tuple[HookCalled, ...] = ()
    takeovers: int = 0
    ended: Ended | None = None

    @property
    def current(self) -> Exchange | None:
        """The exchange of the turn under way, if anything of it was kept."""
        if self.exchanges and self.exchanges[-1].turn == self.turn:
            return self.exchanges[-1]
        return None

    @property
    def opinion(self) -> Opinion | None:
        """The latest opinion."""
        return next((e.opinion for e in reversed(self.exchanges) if e.opinion), None)

    def after(self, entry: Entry) -> State:
        """The state once `entry` is kept."""
        seq = self.seq + 1
        match entry:
            case UserSpoke():
                at = self._at(entry.turn)
                said = Exchange(turn=at.turn, user=entry, rounds=at.rounds, opinion=at.opinion)
                return self._with(said)
            case AssistantSpoke():
                at = self._at(entry.turn)
                rounds = (*at.rounds, entry)
                return self._with(Exchange(turn=at.turn, user=at.user, rounds=rounds, opinion=at.opinion))
            case Opinion():
                at = self._at(entry.turn)
                return self._with(Exchange(turn=at.turn, user=at.user, rounds=at.rounds, opinion=entry))
            case Spent():
                return replace(self._spent(entry), seq=seq)
            case HookCalled():
                turn = max(self.turn, entry.turn)
                return replace(self, seq=seq, turn=turn, hooks=(*self.hooks, entry), takeovers=0)
            case Ended():
                return replace(self, seq=seq, ended=entry)

    def _at(self, turn: int) -> Exchange:
        if self.exchanges and self.exchanges[-1].turn == turn:
            return self.exchanges[-1]
        return Exchange(turn=turn)

    def _with(self, exchange: Exchange) -> State:
        """The state after progress: whatever concerned the step before is forgotten."""
        kept = self.exchanges
        if kept and kept[-1].turn == exchange.turn:
            kept = kept[:-1]
        return State(
            seq=self.seq + 1,
            turn=exchange.turn,
            exchanges=(*kept, exchange),
            schema_refused=self.schema_refused,
            hooks=self.hooks,
            ended=self.ended,
        )

    def _spent(self, spent: Spent) -> State:
        state = replace(self, turn=max(self.turn, spent.turn), last_spent=spent)
        match spent.reason:
            case "retried" | "cut":
                return replace(
                    state,
                    faults=self.faults + 1,
                    takeovers=0,
                    problem=spent.error if spent.code.startswith(OPINION_CODES) else self.problem,
                    schema_refused=self.schema_refused or spent.code == RESPONSE_FORMAT_REFUSED,
                )
            case "nudged" | "regenerated":
                rejections = (*self.rejections, spent.code)
                return replace(state, faults=0, rejections=rejections, takeovers=0)
            case "handed_over" if spent.code == WORKER_LOST:
                return replace(state, takeovers=self.takeovers + 1)
            case _:
                return state


def fold(entries: Iterable[Entry]) -> State:
    """The state after `entries`, from the beginning."""
    state = State()
    for entry in entries:
        state = state.after(entry)
    return state
