"""The talk of one attempt with its gateway: inferences one after another, each charged once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from parley.engine.attempt import Attempt, merged
from parley.engine.chat import retry
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Usage as Used
from parley.engine.draws import Draw
from parley.engine.grading.judge import NeverStopped
from parley.engine.messages import Message, Part, ToolCall, ToolResult
from parley.engine.patience import Patience
from parley.engine.ports import AttemptOptions, Clock, Deadlines, Speaker
from parley.engine.script.faults import SafeFailure
from parley.engine.script.observation import Usage
from parley.engine.script.usage import total
from parley.engine.spec import MAX_ATTEMPTS
from parley.server.attempts.gateway.errors import AgentFailed
from parley.server.attempts.keep import Charge
from parley.server.attempts.playing import Playing
from parley.server.llm.prices import FREE, Prices, cost_of

MOST_STEP_CHARS: Final = 1_000_000
"""Of answers and tools' results of one step; a judge reads at most 400,000 of them."""
MOST_CHARS: Final = 8_000_000
"""The same of a whole attempt: its record is kept as one value, and written again with each step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The gateway as an attempt speaks to it.

    `prices` are what its tokens cost, `multiplier` the plan's where it applies, `name` what the account
    knows it by where that is not what its provider calls it. Prices of nothing are unknown prices: the
    account pays its own provider.
    """

    speaker: Speaker
    options: AttemptOptions
    deadlines: Deadlines
    prices: Prices
    multiplier: Decimal
    name: str | None


@dataclass(slots=True)
class Talk:
    """The lines said so far, and what the current step has used."""

    line: Line
    playing: Playing
    clock: Clock
    messages: list[Message] = field(default_factory=list)
    _used: list[Usage] = field(default_factory=list)
    _step_chars: int = 0
    _chars: int = 0

    def begin_step(self) -> None:
        """Count what a step takes anew."""
        self._used.clear()
        self._step_chars = 0

    def take(self, chars: int) -> None:
        """Count what is to be kept. Raises `AgentFailed` once it is more than a record can hold."""
        self._step_chars += chars
        self._chars += chars
        if self._step_chars > MOST_STEP_CHARS or self._chars > MOST_CHARS:
            told = f"Answers and results are more than {MOST_STEP_CHARS:,} characters in one step"
            raise AgentFailed("too_large", f"{told}, or {MOST_CHARS:,} in all.")

    @property
    def usage(self) -> Usage | None:
        """What the current step has used."""
        return total(self._used)

    async def infer(self) -> Sequence[Part]:
        """The gateway's next answer. Raises `AgentFailed`, `SafeFailure` when the account may not go on.

        A fault that may pass is met by asking again, up to `MAX_ATTEMPTS` times in all.
        """
        chances = Draw(f"{self.playing.work.held.attempt_id}/{len(self.messages)}")
        for number in range(1, MAX_ATTEMPTS + 1):
            try:
                return await self._ask()
            except InferenceFault as fault:
                if not fault.retryable or number == MAX_ATTEMPTS:
                    raise AgentFailed("gateway_inference", fault.message) from fault
                await self.clock.sleep(retry.delay_s(number, fault, chances.random()))
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self) -> Sequence[Part]:
        self._require_funds()
        line = self.line
        with Patience(NeverStopped(), line.deadlines) as patience:
            attempt = Attempt(line.speaker, tuple(self.messages), line.options, patience, self.clock)
            try:
                async with aclosing(attempt.parts()) as parts:
                    async for _ in parts:
                        pass
            finally:
                spent = attempt.usage() if attempt.closing else attempt.spent_usage()
                if spent is not None:
                    await self._charge(spent)
        if attempt.fault is not None:
            raise attempt.fault
        self.take(sum(map(_chars_of, attempt.received)))
        return merged(attempt.received)

    def _require_funds(self) -> None:
        refusal = self.playing.funds.refusal
        if refusal is not None:
            raise SafeFailure(*refusal)

    async def _charge(self, used: Used) -> None:
        line = self.line
        cost = cost_of(used, line.prices, line.multiplier)
        self._used.append(told_usage(used, None if line.prices == FREE else cost, line.name))
        amount = cost if self.playing.funds.metered else Decimal(0)
        await self.playing.charge(Charge(amount=amount, role="assistant", usage=used, name=line.name))


def _chars_of(part: Part) -> int:
    match part:
        case ToolCall():
            return len(part.arguments)
        case ToolResult():
            return len(part.content)
        case _:
            return len(part.text)


def told_usage(used: Used, cost: Decimal | None, name: str | None = None) -> Usage:
    """What an inference used, as records tell it; an unknown cost is left out."""
    return Usage(
        model=name or used.model,
        prompt_tokens=used.prompt_tokens,
        cached_prompt_tokens=used.cached_prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost_usd=None if cost is None else f"{cost:f}",
    )
