"""What a reader of the context has read already."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.domain.ids import MemoryId, TurnId
from shared.domain.memory import Memory
from shared.text.lexical import content_words

# Words of longer texts are not compared: they say more than what is near them.
_LONGEST = 4_000
_MARKS = ("Agent: ", "客服：")
# What a wrap-up puts before its parts, which tells nothing by itself.
_PARTS = content_words(
    "Problem Tried Outcome Promised Order Updated Said 问题 已尝试 结果 承诺 订单 已更新 内容"
)


def is_raw_answer(memory: Memory) -> bool:
    return memory.kind == "episode" and memory.trust == "tool" and bool(memory.turn_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """`verbatim` turns stand in the context as they were said, `memories` in its long-term part."""

    verbatim: frozenset[TurnId]
    memories: list[Memory]
    words: dict[MemoryId, frozenset[str]] = field(default_factory=dict)

    def repeats(self, memory: Memory) -> bool:
        """An episode whose turn stands in the context or in another episode (a long turn has several), or
        whose tool answer a statement tells, or the reverse; a statement whose turns all stand there; and
        whatever says nothing that memories of the same turns have not said."""
        sources = set(memory.turn_ids)
        if any(memory.memory_id == other.memory_id for other in self.memories):
            return True
        if not sources:
            return False
        if self.verbatim & sources if memory.kind == "episode" else self.verbatim >= sources:
            return True
        beside = [other for other in self.memories if not sources.isdisjoint(other.turn_ids)]
        return any(_tells_of(other, memory) for other in beside) or self._says_nothing_new(memory, beside)

    def _says_nothing_new(self, memory: Memory, beside: list[Memory]) -> bool:
        if not beside or len(memory.text) > _LONGEST:
            return False
        said = _unlabeled(memory.text)
        if any(said in other.text for other in beside):
            return True
        new = self._words_of(memory) - (_PARTS if memory.kind == "summary" else frozenset())
        return new <= frozenset().union(*map(self._words_of, beside))

    def _words_of(self, memory: Memory) -> frozenset[str]:
        if memory.memory_id not in self.words:
            self.words[memory.memory_id] = content_words(_unmarked(memory.text[:_LONGEST]))
        return self.words[memory.memory_id]


def _tells_of(told: Memory, memory: Memory) -> bool:
    """Both have a turn in common."""
    if memory.kind == "episode" == told.kind:
        return True
    answers = {told.kind, memory.kind} == {"episode", "tool_result"}
    return answers and (is_raw_answer(told) or is_raw_answer(memory))


def _unmarked(text: str) -> str:
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return text


def _unlabeled(text: str) -> str:
    """A statement of the agent says whose it is ("Agent: …", 「客服：…」); its turn does not."""
    _, colon, rest = text.replace("：", ": ", 1).partition(": ")
    return rest if colon and rest else text
