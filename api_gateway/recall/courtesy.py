"""Thanks, greetings and receipts: what is said without anything being told."""

from __future__ import annotations

import re

from shared.domain.memory import Memory
from shared.text.lexical import content_words

# "Morning" answers a question and "problem" names a trouble, unless they stand in one of these.
_PHRASES = re.compile(
    r"\bgood (?:morning|afternoon|evening|night|day)\b|\bno problem\b"
    r"|\b(?:have an?|enjoy your) \w+ (?:day|evening|night|weekend|one)\b"
    r"|\b(?:is there )?anything else (?:i|we) can (?:help|do)(?: (?:you )?with| for you)?\b"
    r"|[早晚]上好|[上下中]午好|没问题|祝您?(?:生活|工作)愉快|(?:您的)?耐心等待|还有(?:什么|其他).{0,6}帮(?:助|到|您|忙)?",
    re.IGNORECASE,
)
_WORDS = content_words(
    "appreciate awesome brilliant bye cheers excellent fantastic fine glad good goodbye great happy hello "
    "help lot nice noted ok okay perfect please pleasure sorry super sure thank thanks understood welcome "
    "wonderful 不客气 再见 多谢 您好 感谢 感谢您 抱歉 拜拜 收到 明白 知道了 谢谢 谢谢您 谢谢你 辛苦了 麻烦您"
)
# What is longer tells something; and what was given this much importance is not for us to judge.
_LONGEST = 120
_IMPORTANT = 0.5


def is_courtesy(memory: Memory) -> bool:
    """An episode without a content word beyond courtesies; statements were chosen by their sense."""
    if memory.kind != "episode" or memory.importance >= _IMPORTANT or len(memory.text) > _LONGEST:
        return False
    return content_words(_PHRASES.sub(" ", memory.text)) <= _WORDS
