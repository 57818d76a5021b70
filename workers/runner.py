"""Step to Celery task: claim, run, record, ring the next bell. Nothing else here knows Celery.

A bell carries nothing: whoever hears it works on what is due of its kind until there is no more, or for one
slice of time, after which it rings itself again, so that a shutdown never waits long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, time

import stamina
import structlog
from celery import Celery, Task

from shared.broker import RUNG_AT, TASK
from shared.domain.errors import ClaimLost, RetryLater, StoreUnavailable
from shared.domain.session import Claim, QueueName, StepName
from shared.ports import Bell, DebtClaim, Dispatch
from workers.giving_up import give_up
from workers.lease import kept
from workers.opening import open_due
from workers.pipeline import DEBTS, OPENERS, STEPS, DebtStep, Step
from workers.tools import Tools

log = structlog.get_logger(__name__)
SLICE_SECONDS = 5.0
OPEN_LIMIT = 16
# Seconds that two machines' clocks may differ; beyond that a bell may be missed, and the sweep rings again.
CLOCK_SKEW = 0.25
# An outage is waited out in Postgres, not in a worker's slot.
OUTAGE_SECONDS = 5.0
# How long a worker tries to give work back when Postgres is away; afterwards its leases run out.
RETURN_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often work may fail or crash before its batch is split, and how leases are kept."""

    max_failures: int
    max_crashes: int
    renew_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    tools: Tools
    dispatch: Dispatch
    bell: Bell
    patience: Patience

    def drain(self, name: StepName) -> float | None:
        """Work until nothing of the kind is due or the slice is over. Returns since when nothing was due."""
        until = monotonic() + SLICE_SECONDS
        try:
            looked = time()
            while self._once(name):
                if monotonic() > until:
                    self.bell.ring(name)
                    return None
                looked = time()
        except StoreUnavailable as error:
            # Nothing can be recorded; leases run out by themselves and the sweep rings again.
            log.warning("store unavailable", stage=name, error=str(error))
            return None
        return looked

    def _once(self, name: StepName) -> bool:
        if name in OPENERS:
            self.open_due_sessions()
        worked = self._pay_debts(name)
        step = STEPS.get(name)
        claims = self.dispatch.claim(name, limit=step.limit) if step else []
        if step and claims:
            with kept(claims, dispatch=self.dispatch, every=self.patience.renew_seconds):
                self._run_claims(step, claims)
        return worked or bool(claims)

    def _run_claims(self, step: Step, claims: Sequence[Claim]) -> None:
        """A lost connection is no crash: what it leaves unfinished is given back."""
        try:
            self._run_group(step, claims)
        except StoreUnavailable:
            for claim in claims:
                self._return(claim)
            raise

    @stamina.retry(on=StoreUnavailable, attempts=None, timeout=RETURN_SECONDS, wait_max=1.0)
    def _return(self, claim: Claim) -> None:
        self.dispatch.release(claim, delay=0.0, error=None, failed=False)
        self.dispatch.give_back_crash(claim)

    def open_due_sessions(self) -> int:
        opened = 0
        for tenant_id, session_key in self.dispatch.due_sessions(limit=OPEN_LIMIT):
            with self.tools.begin(tenant_id) as work:
                batch = open_due(work, session_key, flush=self.tools.flush)
            if batch is not None:
                opened += 1
                self.bell.ring("summarize", "extract") if batch.kind == "live" else self.bell.ring(
                    "summarize"
                )
        return opened

    def _run_group(self, step: Step, claims: Sequence[Claim]) -> None:
        """Together first; whatever goes wrong then is found claim by claim."""
        if len(claims) > 1:
            try:
                self.bell.ring(*step.run(claims, tools=self.tools))
            except StoreUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 — the same boundary as in _attempt, which judges each
                log.info("group failed, trying singly", error=type(error).__name__, size=len(claims))
            else:
                return
        for claim in claims:
            self._attempt(step, claim)

    def _attempt(self, step: Step, claim: Claim) -> None:
        """Run one claim and decide what its failure means. The only broad except of the house: whatever our
        own code raises is counted against this work, and must not end the worker."""
        try:
            self.bell.ring(*self._run_one(step, claim))
        except ClaimLost as error:
            log.info("claim lost", stage=claim.step, reason=str(error))
            self.dispatch.give_back_crash(claim)
        except StoreUnavailable:
            raise
        except RetryLater as error:
            self.dispatch.release(claim, delay=OUTAGE_SECONDS, error=_label(error), failed=False)
        except Exception as error:
            log.exception("step failed", stage=claim.step, attempt=claim.failures + 1)
            delay = step.retry.delay(claim.failures)
            self.dispatch.release(claim, delay=delay, error=_label(error), failed=True)

    def _run_one(self, step: Step, claim: Claim) -> Sequence[QueueName]:
        if claim.crashes >= self.patience.max_crashes:
            return give_up(claim, reason="crashed", error="WorkerLost", tools=self.tools)
        if claim.failures >= self.patience.max_failures:
            return give_up(claim, reason="failed", error=claim.error or "unknown", tools=self.tools)
        return step.run([claim], tools=self.tools)

    def _pay_debts(self, name: StepName) -> bool:
        debt = DEBTS.get(name)
        claims = self.dispatch.claim_debts(name, limit=debt.limit) if debt else []
        if debt and claims:
            self._pay(debt, claims)
        return bool(claims)

    def _pay(self, debt: DebtStep, claims: Sequence[DebtClaim]) -> None:
        """Together first. A debt that cannot be paid never dies and never holds up the others: it waits."""
        try:
            self.bell.ring(*debt.pay(claims, tools=self.tools))
        except RetryLater as error:
            self.dispatch.release_debts(claims, delay=OUTAGE_SECONDS, error=_label(error))
        except Exception as error:  # the boundary of _attempt once more: our own code's fault
            if len(claims) > 1:
                for claim in claims:
                    self._pay(debt, [claim])
                return
            log.exception("debt not paid", stage=debt.name, attempt=claims[0].failures + 1)
            delay = debt.retry.delay(claims[0].failures)
            self.dispatch.release_debts(claims, delay=delay, error=_label(error))


def _label(error: Exception) -> str:
    """The class alone: a message may quote what a customer wrote."""
    return type(error).__name__


def register(app: Celery, *, runner: Callable[[], Runner]) -> None:
    """One task a kind of step; the runner is built once, in the process that works."""
    for name in (*STEPS, "index"):
        _register(app, name, runner=runner)


@dataclass(slots=True)
class Quiet:
    """Since when nothing of a kind was due here. Bells rung before that announce what has been seen: a busy
    session rings more often than it has work, and hundreds of bells may wait behind one drain."""

    since: float = 0.0

    def covers(self, rung_at: float | None) -> bool:
        return rung_at is not None and rung_at + CLOCK_SKEW < self.since


def _register(app: Celery, name: StepName, *, runner: Callable[[], Runner]) -> None:
    quiet = Quiet()

    # A lost child is retried at once and not for ever: by default it waits three minutes.
    @app.task(  # type: ignore[untyped-decorator]
        name=TASK.format(name), bind=True, default_retry_delay=1, max_retries=2
    )
    def drain(task: Task) -> None:
        if not quiet.covers(task.request.get(RUNG_AT)):
            quiet.since = runner().drain(name) or quiet.since
