"""The service's judge, as an attempt asks it: pinned, and every inference charged once."""

from __future__ import annotations

from decimal import Decimal

from parley.engine.chat.pieces import Usage
from parley.engine.script.faults import JudgeFault
from parley.engine.script.ports import Graded
from parley.engine.script.rubric import GradeRequest
from parley.server.attempts.keep import Charge
from parley.server.attempts.playing import Playing
from parley.server.llm.prices import cost_of
from parley.server.script_judge.judge import ScriptJudge, ScriptJudges, Seat


class ChargedJudge:
    """`engine.script.ports.Judge` on behalf of one attempt."""

    max_evidence_chars = ScriptJudge.max_evidence_chars

    def __init__(self, judges: ScriptJudges, seat: Seat, playing: Playing) -> None:
        self.identity = seat.identity
        self._judges = judges
        self._seat = seat
        self._playing = playing

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """The llm's reply, unread. Raises `JudgeFault`, also when the account may not go on."""
        refusal = self._playing.funds.refusal
        if refusal is not None:
            raise JudgeFault(*refusal)
        spent: list[Charge] = []

        def spend(usage: Usage) -> Decimal:
            cost = cost_of(usage, self._seat.prices, self._playing.work.multiplier)
            amount = cost if self._playing.funds.metered else Decimal(0)
            spent.append(Charge(amount=amount, role="judge", usage=usage))
            return cost

        try:
            return await self._judges.judge(self._seat, spend).grade(request, problem)
        finally:
            for one in spent:
                await self._playing.charge(one)
