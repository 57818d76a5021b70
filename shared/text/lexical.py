"""The lexical channel: text to terms, and terms to the sparse vectors of BM25."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

import rjieba
import Stemmer

from shared.ports import SparseVector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ALNUM = rf"[^\W_{_CJK}]"
_TOKEN = re.compile(rf"(?P<cjk>[{_CJK}]+)|{_ALNUM}+(?:[-_./:@+#]{_ALNUM}+)*")
_JOINT = re.compile(r"[-_./:@+#]")
_LETTERS_OR_DIGITS = re.compile(r"\d+|\D+")
_DIGIT = re.compile(r"\d")

# Compared before stemming; English contractions come apart at the apostrophe ("don", "ll").
_STOP_WORDS = frozenset(
    word
    for name in ("stopwords_en.txt", "stopwords_zh.txt")
    for word in files(__package__).joinpath(name).read_text(encoding="utf-8").split()
)

# Without a cache of its own a stemmer keeps no state between calls, so threads may share it.
_STEM = Stemmer.Stemmer("english", 0).stemWord


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """The document side of BM25 (Robertson & Zaragoza 2009, section 3.2).

    weight = tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average_length)); lengths are counted in terms.
    An average of 30 terms is about a turn with its two neighbors (LoCoMo 41, 35 as they are weighed); recall
    there moves by less than .01 for k1 from 0.9 to 1.5, b from 0.4 to 0.75 and averages from 20 to 80.

    A term beside the text counts `beside` of a term in it. On three LoCoMo conversations recall@1 of this
    channel is .206 at 1.0 (average 40) and .332 at 0.8, recall@10 .731 and .733, fused with the bundled
    embedder .715 and .716; at 0.5 and below the last one falls.
    """

    k1: float = 1.2
    b: float = 0.75
    average_length: float = 30.0
    beside: float = 0.8


def terms(text: str) -> list[str]:
    """Index terms in order of appearance, repeats kept.

    A token with a digit in it ("SM-G998B", "v2.3.1") stands whole as well as in its parts. A Chinese word
    stands with its inner words, and each run of Chinese with its character pairs: recall@10 with and without
    them is .531 / .491 on AFQMC questions, .122 / .119 on BQ, .474 / .468 on MADial with the last turn as the
    query, .525 / .561 with the last three.
    """
    return [
        term for run, is_cjk in _runs(text) for term in (_cjk_terms(run) if is_cjk else _alnum_terms(run))
    ]


def content_words(text: str) -> frozenset[str]:
    """The words that carry what a text is about: stems, identifiers, Chinese words; no character pairs."""
    return frozenset(
        word for run, is_cjk in _runs(text) for word in (_cjk_words(run) if is_cjk else _alnum_terms(run))
    )


def document_vector(
    text: str, *, beside: Sequence[str] = (), saturation: Saturation | None = None
) -> SparseVector:
    """Term frequencies, saturated; the index multiplies by IDF. `beside` are texts next to this one: it is
    found by their words too, behind what says them itself."""
    rule = saturation or Saturation()
    counts = defaultdict[int, float](float)
    for weight, texts in ((1.0, (text,)), (rule.beside, beside)):
        for index in (_index(term) for each in texts for term in terms(each)):
            counts[index] += weight
    norm = rule.k1 * (1 - rule.b + rule.b * sum(counts.values()) / rule.average_length)
    indices = tuple(sorted(counts))
    return SparseVector(
        indices=indices, values=tuple(counts[i] * (rule.k1 + 1) / (counts[i] + norm) for i in indices)
    )


def query_vector(text: str) -> SparseVector:
    indices = tuple(sorted({_index(term) for term in terms(text)}))
    return SparseVector(indices=indices, values=(1.0,) * len(indices))


@lru_cache(maxsize=65_536)
def _index(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(errors="replace"), digest_size=4).digest(), "big")


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        yield match.group(), match.lastgroup == "cjk"


def _alnum_terms(token: str) -> list[str]:
    parts = _JOINT.split(token)
    whole = [token] if len(parts) > 1 and _DIGIT.search(token) else []
    return whole + [term for part in parts for term in _part_terms(part, alone=len(parts) == 1)]


def _part_terms(part: str, *, alone: bool) -> list[str]:
    if not _DIGIT.search(part):
        return [] if len(part) == 1 or part in _STOP_WORDS else [_STEM(part)]
    pieces = _LETTERS_OR_DIGITS.findall(part)
    if len(pieces) == 1:
        return [part] if alone or len(part) > 1 else []
    return [part, *(piece for piece in pieces if len(piece) > 1)]


def _cjk_words(run: str) -> list[str]:
    return [word for word in rjieba.cut_for_search(run) if word not in _STOP_WORDS]


def _cjk_terms(run: str) -> list[str]:
    words = _cjk_words(run)
    known = _STOP_WORDS.union(words)
    return words + [pair for pair in map("".join, pairwise(run)) if pair not in known]
