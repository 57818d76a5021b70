"""Turns to statements: by the language model, else by the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from shared.codec import statements_to_json
from shared.domain.errors import ModelAnswerUnusable, ModelUnavailable
from shared.domain.memory import Statement
from shared.domain.session import Claim, StepName
from workers.rules.statements import statements
from workers.steps.extraction import prompt_for, statements_from
from workers.steps.fold import Fold, read_fold
from workers.tools import Tools

log = structlog.get_logger(__name__)


def extract(claims: Sequence[Claim], *, tools: Tools) -> list[StepName]:
    (claim,) = claims
    fold = read_fold(claim, step="extract", tools=tools)
    output = {} if fold.recorded else output_of(fold, tools=tools)
    with tools.begin(claim.tenant_id) as work:
        return work.batches.record(claim, output=output)


def output_of(fold: Fold, *, tools: Tools) -> Mapping[str, object]:
    """The rules' statements always: what they find is exact. The model's come on top of them; a model that
    is down or talks nonsense leaves the batch marked for a second pass."""
    by_rule = statements(fold.turns, finder=fold.finder(tools))
    try:
        by_model = _by_model(fold, tools=tools)
    except (ModelUnavailable, ModelAnswerUnusable) as error:
        log.warning("rules instead of the model", stage="extract", error=type(error).__name__)
        return {"statements": statements_to_json(by_rule), "by": "rules", "second_pass": True}
    found = [*by_rule, *by_model] if by_model else by_rule
    by = "model" if tools.chat else "rules"
    return {"statements": statements_to_json(found), "by": by}


def _by_model(fold: Fold, *, tools: Tools) -> Sequence[Statement]:
    if tools.chat is None:
        return ()
    finder = fold.finder(tools)
    prompt = prompt_for(fold.turns, language=fold.language)
    answer = tools.chat.complete(prompt, deadline=tools.chat_deadline)
    believed = statements_from(answer, turns=fold.turns, finder=finder)
    if believed.dropped:
        log.info("statements dropped", stage="extract", dropped=dict(believed.dropped))
    return believed.statements
