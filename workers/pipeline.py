"""The table of steps: how each kind of work is done, and how much of it a worker takes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shared.domain.session import QueueName, StepName
from shared.ports import DebtClaim
from workers.steps.embed import embed, embed_owed
from workers.steps.extract import extract
from workers.steps.index import index
from workers.steps.merge import merge
from workers.steps.summarize import summarize
from workers.tools import Tools

Bells = Sequence[QueueName]
MOST_DOUBLINGS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Seconds to wait after the n-th failure (from 0): doubling from `first` up to `longest`."""

    first: float = 1.0
    longest: float = 60.0

    def delay(self, failures: int) -> float:
        # A debt is tried for ever: its number of failures outgrows what a float can double.
        return min(self.first * 2.0 ** min(failures, MOST_DOUBLINGS), self.longest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`run` takes a group of claims, records each, and says which bells to ring. It raises ClaimLost,
    RetryLater, or whatever else is our own fault."""

    run: Callable[..., Bells]
    limit: int = 1
    retry: RetryPolicy = RetryPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtStep:
    name: StepName
    pay: Callable[..., Bells]
    limit: int
    retry: RetryPolicy = RetryPolicy()


def _pay_embed(claims: Sequence[DebtClaim], *, tools: Tools) -> Bells:
    embed_owed(claims, tools=tools)
    return ("index",)


def _pay_index(claims: Sequence[DebtClaim], *, tools: Tools) -> Bells:
    return ("embed",) if index(claims, tools=tools) else ()


STEPS: Mapping[StepName, Step] = {
    "extract": Step(run=extract),
    "summarize": Step(run=summarize),
    "embed": Step(run=embed, limit=8),
    "merge": Step(run=merge),
}
DEBTS: Mapping[StepName, DebtStep] = {
    "embed": DebtStep(name="embed", pay=_pay_embed, limit=32),
    "index": DebtStep(name="index", pay=_pay_index, limit=128),
}
# The steps before which due sessions get their next batch.
OPENERS: frozenset[StepName] = frozenset({"extract", "summarize"})
