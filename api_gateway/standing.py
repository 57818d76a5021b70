"""Where a turn stands, stage by stage, read off its newest batch and its memories' index debts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from shared.domain.session import StepName
from shared.ports import DebtState, Failure, Stage, TurnRow

StageState = Literal["pending", "running", "done", "retrying", "dead"]
BATCH_STAGES: tuple[StepName, ...] = ("extract", "summarize", "embed", "merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    state: StageState
    error: str | None = None
    attempts: int = 0
    next_try: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    stages: dict[str, Standing]
    reason: str | None


def standing(
    row: TurnRow, *, stages: Sequence[Stage], debts: Sequence[DebtState], failure: Failure | None
) -> Standings:
    """A turn that is done has every stage of its batch behind it, whatever became of the work rows."""
    if row.state == "dead" and failure is not None:
        return Standings(stages=_dead(stages, failure=failure), reason=failure.reason)
    batch = {stage.step: _of(stage) for stage in stages if stage.batch_state == "open"}
    default = Standing(state="done" if row.state == "done" else "pending")
    found: dict[str, Standing] = {step: batch.get(step, default) for step in BATCH_STAGES}
    found["index"] = _index(row, debts=debts)
    return Standings(stages=found, reason=None)


def _of(stage: Stage) -> Standing:
    attempts = stage.crashes + stage.failures
    if stage.state == "done":
        return Standing(state="done", attempts=attempts + 1)
    if stage.state == "running":
        return Standing(state="running", error=stage.error, attempts=attempts + 1)
    if stage.state == "due" and (attempts or stage.error):
        return Standing(state="retrying", error=stage.error, attempts=attempts, next_try=stage.due_at)
    return Standing(state="pending", next_try=stage.due_at)


def _dead(stages: Sequence[Stage], *, failure: Failure) -> dict[str, Standing]:
    done = {stage.step for stage in stages if stage.state == "done"}
    found: dict[str, Standing] = {
        step: Standing(state="done" if step in done else "pending") for step in BATCH_STAGES
    }
    attempts = failure.crashes + failure.failures
    found[failure.step] = Standing(state="dead", error=failure.error, attempts=attempts)
    return found | {"index": Standing(state="pending")}


def _index(row: TurnRow, *, debts: Sequence[DebtState]) -> Standing:
    if row.state != "done":
        return Standing(state="pending")
    if not debts:
        return Standing(state="done")
    worst = max(debts, key=lambda debt: debt.failures)
    if worst.failures:
        return Standing(state="retrying", error=worst.error, attempts=worst.failures, next_try=worst.due_at)
    return Standing(state="running" if any(debt.running for debt in debts) else "pending")
