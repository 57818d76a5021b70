"""Rounds to condensed entries, and a closed session to its wrap-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from shared.codec import entries_to_json, statements_to_json
from shared.domain.errors import ModelAnswerUnusable, ModelUnavailable
from shared.domain.memory import Slot, Statement, importance_of
from shared.domain.session import Claim, CondensedEntry, StepName
from shared.domain.turn import Turn, rounds
from shared.text.lexical import terms
from workers.rules.entities import EntityFinder
from workers.rules.summary import Condensing, condense
from workers.rules.wrap_up import wrap_up
from workers.steps.fold import Fold, read_fold
from workers.steps.summary import prompt_for, summaries_from
from workers.tools import Tools

log = structlog.get_logger(__name__)


def summarize(claims: Sequence[Claim], *, tools: Tools) -> list[StepName]:
    (claim,) = claims
    fold = read_fold(claim, step="summarize", tools=tools)
    output = {} if fold.recorded else output_of(fold, tools=tools)
    with tools.begin(claim.tenant_id) as work:
        return work.batches.record(claim, output=output)


def output_of(fold: Fold, *, tools: Tools) -> Mapping[str, object]:
    finder = fold.finder(tools)
    if fold.batch.kind == "close":
        return {"statements": statements_to_json(wrap_up_of(fold, finder=finder))}
    by = Condensing(
        session_id=fold.session.session_id,
        share_removed=fold.user.policy.share_removed,
        counter=tools.counter,
        finder=finder,
    )
    cut = rounds(fold.turns)
    entries = [condense(turns, by=by) for turns in cut]
    try:
        better = _by_model(fold, cut=cut, entries=entries, tools=tools)
    except (ModelUnavailable, ModelAnswerUnusable) as error:
        log.warning("rules instead of the model", stage="summarize", error=type(error).__name__)
        return {"entries": entries_to_json(entries), "by": "rules", "second_pass": True}
    return {"entries": entries_to_json(better), "by": "model" if tools.chat else "rules"}


def _by_model(
    fold: Fold, *, cut: Sequence[Sequence[Turn]], entries: Sequence[CondensedEntry], tools: Tools
) -> Sequence[CondensedEntry]:
    if tools.chat is None or not entries:
        return entries
    prompt = prompt_for(cut, language=fold.language)
    answer = tools.chat.complete(prompt, deadline=tools.chat_deadline)
    return summaries_from(answer, rounds=cut, entries=entries, finder=fold.finder(tools)).entries


def wrap_up_of(fold: Fold, *, finder: EntityFinder) -> list[Statement]:
    """One statement in the slot of its session, so that a later wrap-up takes its place; none without turns,
    since a statement cites some."""
    if not fold.turns:
        return []
    text = wrap_up(fold.turns, language=fold.language, finder=finder, outcome=fold.session.outcome)
    if not text:
        return []
    newest = fold.turns[-1]
    return [
        Statement(
            kind="summary",
            category="general",
            text=text,
            language=fold.language,
            trust="operator",
            importance=importance_of(text, words=terms(text), entities=0, remember=False),
            sequences=[turn.sequence for turn in fold.turns],
            valid_from=min(newest.created_at, newest.accepted_at),
            slot=Slot(subject=f"session:{fold.session.session_key}", attribute="wrap_up", value=text),
        )
    ]
