"""The three formats: what each charges for its parts, and what it makes of them.

A context reads profile, condensed memory, memories, working memory. The first changes least from one call
to the next and the last most, so providers' prompt caches find a long prefix again; memories follow
condensed memory because every query brings others, while condensed memory only grows at its end until it is
over its limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from api_gateway.recall.elements import ROOT, note, said, tags
from api_gateway.recall.exchange import (
    MESSAGE_TOKENS,
    PRIMING_TOKENS,
    Exchange,
    Message,
    message_tokens,
    messages,
)
from api_gateway.recall.older import Piece
from api_gateway.recall.pack import Form, Packed
from api_gateway.recall.query import SECTIONS, ContextRequest, InsertMethod, Section
from shared.domain.ids import MemoryId, TurnId
from shared.ports import TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """`text` is the element as it stands in the `text` format, so items can be joined as they are."""

    text: str
    turn_ids: tuple[TurnId, ...]
    tokens: int
    memory_id: MemoryId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """One of `messages`, `text` and `sections`; `used` tokens are counted on what is handed out."""

    used: int
    messages: Sequence[Message] | None = None
    text: str | None = None
    sections: Mapping[Section, Sequence[Item]] | None = None


class Renderer(Form, Protocol):
    def render(self, packed: Packed) -> Rendered: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """What the formats have in common: the language of the note, the session its calls belong to."""

    language: str
    session_id: str
    counter: TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """`messages`: the memory block joins the newest user message, or is one of its own."""

    voice: Voice
    insert_method: InsertMethod

    @property
    def fixed(self) -> int:
        return PRIMING_TOKENS

    @property
    def block(self) -> int:
        """As a message of its own, which is a few tokens more than joined to another."""
        counter = self.voice.counter
        frame = f"{ROOT[0]}{note(self.voice.language)}{ROOT[1]}\n"
        return MESSAGE_TOKENS + counter.count(self.insert_method) + counter.count(frame)

    def tags(self, section: Section) -> int:
        return self.voice.counter.count("".join(tags(section)))

    def cost(self, exchange: Exchange) -> int:
        return _tokens(messages(exchange), counter=self.voice.counter)

    def render(self, packed: Packed) -> Rendered:
        block = _block(packed, language=self.voice.language)
        host = _new_user_message(packed.working) if self.insert_method == "user" else None
        made: list[Message] = []
        if block and host is None:
            made.append({"role": self.insert_method, "content": block})
        for exchange in packed.working:
            spoken = messages(exchange)
            if block and exchange is host:
                spoken[0]["content"] = f"{block}\n{spoken[0]['content']}"
            made.extend(spoken)
        used = PRIMING_TOKENS + _tokens(made, counter=self.voice.counter) if made else 0
        return Rendered(used=used, messages=made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`text`: all of it as one piece of XML."""

    voice: Voice

    @property
    def fixed(self) -> int:
        return self.voice.counter.count("".join(ROOT)) + self.tags("working")

    @property
    def block(self) -> int:
        return self.voice.counter.count(note(self.voice.language))

    def tags(self, section: Section) -> int:
        return self.voice.counter.count("".join(tags(section)))

    def cost(self, exchange: Exchange) -> int:
        return self.voice.counter.count(self.line(exchange))

    def line(self, exchange: Exchange) -> str:
        return said(exchange, session_id=self.voice.session_id)

    def render(self, packed: Packed) -> Rendered:
        working = [self.line(exchange) for exchange in packed.working]
        text = _block(packed, language=self.voice.language, working=working)
        return Rendered(used=self.voice.counter.count(text), text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Itemized:
    """`json`: the elements of `text` one by one, and counted as they stand there."""

    document: Document
    include: frozenset[Section]

    @property
    def fixed(self) -> int:
        return self.document.fixed

    @property
    def block(self) -> int:
        return self.document.block

    def tags(self, section: Section) -> int:
        return self.document.tags(section)

    def cost(self, exchange: Exchange) -> int:
        return self.document.cost(exchange)

    def render(self, packed: Packed) -> Rendered:
        items = {section: [_item(piece) for piece in pieces] for section, pieces in packed.sections}
        items["working"] = [
            Item(
                text=self.document.line(exchange),
                turn_ids=exchange.turn_ids,
                tokens=self.document.cost(exchange),
            )
            for exchange in packed.working
        ]
        wanted = {section: items[section] for section in SECTIONS if section in self.include}
        return Rendered(used=self.document.render(packed).used, sections=wanted)


def renderer(request: ContextRequest, *, voice: Voice) -> Renderer:
    if request.format == "messages":
        return Chat(voice=voice, insert_method=request.insert_method)
    document = Document(voice=voice)
    return document if request.format == "text" else Itemized(document=document, include=request.include)


def _block(packed: Packed, *, language: str, working: Sequence[str] = ()) -> str:
    """Nothing when there is nothing in it; nothing remembered without the note before it."""
    parts = [(section, [piece.text for piece in pieces]) for section, pieces in packed.sections if pieces]
    head = [note(language)] if parts else []
    if working:
        parts.append(("working", list(working)))
    if not parts:
        return ""
    inner = [line for section, lines in parts for line in (tags(section)[0], *lines, tags(section)[1])]
    return "".join([ROOT[0], *head, *inner, ROOT[1]])


def _new_user_message(working: Sequence[Exchange]) -> Exchange | None:
    """The newest user turn, unless it has got its answer: one without calls."""
    for exchange in reversed(working):
        if exchange.turn.role == "user":
            return exchange
        if exchange.turn.role == "assistant" and not exchange.turn.tool_calls:
            return None
    return None


def _tokens(made: Sequence[Message], *, counter: TokenCounter) -> int:
    return sum(message_tokens(message, counter=counter) for message in made)


def _item(piece: Piece) -> Item:
    memory_id = piece.ranked.memory.memory_id if piece.ranked else None
    return Item(text=piece.text, turn_ids=piece.turn_ids, tokens=piece.tokens, memory_id=memory_id)
