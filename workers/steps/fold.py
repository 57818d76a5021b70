"""What `extract` and `summarize` read of a batch before they work outside any transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from shared.domain.errors import ClaimLost
from shared.domain.session import Batch, Claim, StepName
from shared.domain.turn import Turn
from shared.ports import SessionRow, UserRow
from shared.text.language import language_of
from workers.rules.entities import EntityFinder
from workers.tools import Tools

CLOSE_TURNS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    batch: Batch
    user: UserRow
    session: SessionRow
    turns: Sequence[Turn]
    recorded: bool

    @property
    def language(self) -> str:
        """Of what was said; short batches take the user's or the session's."""
        usual = self.user.policy.language or self.session.language or "en"
        said = " ".join(turn.text for turn in self.turns if turn.role in ("user", "assistant"))
        return language_of(said, fallback=usual)

    def finder(self, tools: Tools) -> EntityFinder:
        zone = self.user.policy.timezone
        return EntityFinder(
            language=self.language, tagger=tools.tagger, zone=ZoneInfo(zone) if zone else None
        )


def first_read(batch: Batch) -> int:
    """A closing batch looks back over its session."""
    return max(1, batch.last - CLOSE_TURNS + 1) if batch.kind == "close" else batch.first


def read_fold(claim: Claim, *, step: StepName, tools: Tools) -> Fold:
    """Raises ClaimLost when user or session were erased. `recorded`: the step's output stands already."""
    with tools.begin(claim.tenant_id) as work:
        batch = work.batches.find(claim.batch_id)
        session = work.sessions.by_key(batch.session_key) if batch.session_key else None
        user = work.users.find(batch.user_key)
        if session is None or user is None:
            raise ClaimLost("the user or session was erased")
        turns = work.turns.between(session, first=first_read(batch), last=batch.last)
        recorded = step in work.batches.outputs(claim.batch_id)
    return Fold(batch=batch, user=user, session=session, turns=turns, recorded=recorded)
