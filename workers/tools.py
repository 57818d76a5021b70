"""What the steps are given: ports, and the numbers that a deployment may set."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.policy import BudgetSplit
from shared.domain.session import FlushPolicy
from shared.ports import Begin, ChatModel, Embedder, NameTagger, OpenIndex, TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """`chat` is None where no language model is configured: then the rules do the work."""

    begin: Begin
    open_index: OpenIndex
    embedder: Embedder
    counter: TokenCounter
    tagger: NameTagger | None
    chat: ChatModel | None
    chat_deadline: float
    flush: FlushPolicy
    split: BudgetSplit
