"""What a turn says, sentence by sentence, without the context that was handed to the model with it."""

from __future__ import annotations

import re

from workers.rules.spans import has_han

# A context block stands escaped in nobody's own words: what is inside was learnt before.
_INJECTED = re.compile(
    r"<(memory|condensed_memory|working_memory|long_term_memory)\b[^>]*>.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END = re.compile(
    r"[。！？；]+[”」』）~]*|[.!?;]+[\"')\]]*(?=\s|$)|[!?](?=[\u3400-\u9fff])|\n+"
    r"|(?<=[\u3400-\u9fff]{4})[ ~]+(?=[\u3400-\u9fff]{2})"
)
_ABBREVIATION = re.compile(
    r"\b(?:mr|mrs|ms|dr|st|ave|apt|no|vs|e\.g|i\.e|inc|ltd|approx|a\.m|p\.m|v)$", re.IGNORECASE
)
_LONGEST = 300
# Cut long text behind a comma or space, else between any two characters that are not both part of a code.
_PIECE = re.compile(
    rf".{{1,{_LONGEST}}}(?:$|(?<=[,，、\s])|(?<![A-Za-z0-9])|(?![A-Za-z0-9]))|.{{{_LONGEST}}}", re.DOTALL
)
_CODE_CHARACTER = re.compile(r"[A-Za-z0-9_./:@+-]")
_WITH_QUESTION_MARK = re.compile(r"[?？][\"'”）)~\s]*$")
_ASKING = re.compile(
    r"^\W*(?:(?:hi|hello|hey|ok|okay|so|and|but|also|please)[,!.\s]+)*"
    r"(?:(?:what|how|when|where|why|who|which|whose)\b|(?:can|could|does|did|is|are|was|were|will|would|should|may|has)"
    r"(?!['’]t| not\b)\b|do(?! not\b)\b(?!['’])|have you\b)",
    re.IGNORECASE,
)
_CHINESE_ASKING = re.compile(
    r"(?:吗|呢|么|嘛|没有|不)[\s~。!！]*$|什么|怎么|怎样|如何|多少|哪[里个家天种些儿]|是否|能否|可否|谁"
    r"|能不能|可不可以|可以不|是不是|有没有|会不会|要不要|几[天时点个号]|多久|多长时间|为啥|为何|请问"
)
_SMALL_TALK = re.compile(
    r"^\W*(?:(?:hi|hello|hey|thanks?(?: you)?(?: so much| very much| a lot)?|thx|ok(?:ay)?|sure|yes|no|yep"
    r"|nope|bye|goodbye|great|perfect|good (?:morning|afternoon|evening|day)|you'?re welcome|no problem"
    r"|my pleasure|have a (?:nice|good) day|that'?s (?:all|it|great|fine)|got it|i see|alright|there)\W*)+$"
    r"|^\W*(?:(?:你好|您好|在吗?|在的|亲|谢谢您?|感谢|多谢|好的?|嗯|哦|噢|行|可以|是的?|对的?|不客气|再见|拜拜"
    r"|没事|麻烦了|辛苦了|稍等|请稍等|收到|明白了?|知道了|没有了|没了|祝您生活愉快|啊|呀|哈|了|啦|哒)\W*)+$",
    re.IGNORECASE,
)
_FEWEST_WORDS, _FEWEST_CHARACTERS = 3, 4


def own_words(text: str) -> str:
    """`text` without context blocks; an unclosed one ends with the text."""
    return _INJECTED.sub(" ", text)


def sentences(text: str) -> list[str]:
    """None longer than 300 characters; no number, code or address is cut that is not itself longer."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if end[0].startswith(".") and _ABBREVIATION.search(text, max(start, end.start() - 8), end.start()):
            continue
        found.append(text[start : end.end()])
        start = end.end()
    found.append(text[start:])
    return [piece.strip() for whole in found for piece in _PIECE.findall(whole.strip()) if piece.strip()]


def is_question(sentence: str) -> bool:
    if _WITH_QUESTION_MARK.search(sentence):
        return True
    return bool(_CHINESE_ASKING.search(sentence) if has_han(sentence) else _ASKING.match(sentence))


def is_small_talk(sentence: str) -> bool:
    return _SMALL_TALK.match(sentence) is not None


def is_short(sentence: str) -> bool:
    """Too short to say anything by itself."""
    if has_han(sentence):
        return len(re.sub(r"\W", "", sentence)) < _FEWEST_CHARACTERS
    return len(sentence.split()) < _FEWEST_WORDS


def clip(text: str, *, limit: int) -> str:
    """At most `limit` characters, cut as `sentences` cuts, with … for what is missing."""
    if len(text) <= limit:
        return text
    cut = limit - 1
    while cut > limit // 2 and _CODE_CHARACTER.match(text[cut]) and _CODE_CHARACTER.match(text[cut - 1]):
        cut -= 1
    return text[:cut].rstrip() + "…"
