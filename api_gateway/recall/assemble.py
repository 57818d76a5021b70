"""A context, or the answer to a search, from what is asked to what is handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api_gateway.recall.ask import Part
from api_gateway.recall.exchange import Message, exchanges
from api_gateway.recall.gather import Begin, Gathered, find, gather
from api_gateway.recall.older import Past, Piece
from api_gateway.recall.pack import Materials, Packed, Packer, lessened
from api_gateway.recall.query import SECTIONS, ContextRequest, SearchRequest, Section
from api_gateway.recall.rank import Ranked, rank
from api_gateway.recall.render import Item, Rendered, Renderer, Voice, renderer
from shared.domain.ids import MemoryId, TurnId
from shared.domain.memory import Tier
from shared.ports import Embedder, TokenCounter, VectorIndex
from shared.text.language import language_of

# Where token counts add up, the first rendering fits; each further one frees twice what is still over.
_RENDERINGS = 6
# The note is in the language of what users said among so many turns.
_LANGUAGE_TURNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """`score` is comparable within one answer only. `why` names the channels that found it and its places."""

    id: MemoryId
    text: str
    score: float
    tier: Tier
    turn_ids: Sequence[TurnId]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """`sections` adds up to `used`: its `envelope` is what belongs to no section (tags, the note, what the
    chat format takes up)."""

    budget: int
    used: int
    sections: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One of `messages`, `text` and `sections`, as asked for. `memories` are those in it, in their order."""

    tokens: TokenTable
    memories: Sequence[RecalledMemory]
    pending_turns: int
    degraded: Sequence[Part]
    messages: Sequence[Message] | None = None
    text: str | None = None
    sections: Mapping[Section, Sequence[Item]] | None = None

    @property
    def accessed(self) -> tuple[MemoryId, ...]:
        """For the access statistics, which the caller buffers."""
        return tuple(memory.id for memory in self.memories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Best first."""

    memories: Sequence[Ranked]
    degraded: Sequence[Part]

    @property
    def accessed(self) -> tuple[MemoryId, ...]:
        return tuple(each.memory.memory_id for each in self.memories)


def assemble(
    request: ContextRequest, *, begin: Begin, index: VectorIndex, embedder: Embedder, counter: TokenCounter
) -> Context:
    gathered = gather(request, begin=begin, index=index, embedder=embedder, counter=counter)
    voice = Voice(
        language=request.language or _language(request, gathered=gathered),
        session_id=request.session.session_id if request.session else "",
        counter=counter,
    )
    form = renderer(request, voice=voice)
    packed = Packer(request=request, form=form, counter=counter).pack(_materials(request, gathered=gathered))
    packed, rendered = _fitted(packed, form=form, counter=counter, budget=request.max_tokens)
    return Context(
        tokens=_table(packed, form=form, used=rendered.used, request=request),
        memories=[_recalled(each) for each in _shown(packed)],
        pending_turns=gathered.pending,
        degraded=gathered.degraded,
        messages=rendered.messages,
        text=rendered.text,
        sections=rendered.sections,
    )


def search(
    request: SearchRequest, *, begin: Begin, index: VectorIndex, embedder: Embedder, counter: TokenCounter
) -> Found:
    gathered = find(request, begin=begin, index=index, embedder=embedder, counter=counter)
    ranked = rank(gathered.candidates, policy=request.policy, now=request.now)
    return Found(memories=ranked[: request.top_k], degraded=gathered.degraded)


def _materials(request: ContextRequest, *, gathered: Gathered) -> Materials:
    ranked = [
        _because("pending", each) if each.memory.memory_id in gathered.waiting else each
        for each in rank(gathered.candidates, policy=request.policy, now=request.now)
    ]
    found = {each.memory.memory_id: each for each in ranked}
    past = None
    if request.session is not None:
        past = Past(
            session=request.session,
            exchanges=exchanges(gathered.turns),
            entries=gathered.condensed,
        )
    return Materials(
        past=past,
        profile=[
            _because("profile", found.get(memory.memory_id, Ranked(memory=memory, score=0.0, why="")))
            for memory in gathered.profile
        ],
        ranked=_open_issues_first(ranked, issues=gathered.open_issues),
    )


def _open_issues_first(ranked: Sequence[Ranked], *, issues: frozenset[MemoryId]) -> list[Ranked]:
    """The session's open issue stays in its context whatever is asked in between."""
    first = [_because("open issue", each) for each in ranked if each.memory.memory_id in issues]
    return first + [each for each in ranked if each.memory.memory_id not in issues]


def _because(reason: str, ranked: Ranked) -> Ranked:
    why = f"{reason}, {ranked.why}" if ranked.why else reason
    return Ranked(memory=ranked.memory, score=ranked.score, why=why)


def _fitted(packed: Packed, *, form: Renderer, counter: TokenCounter, budget: int) -> tuple[Packed, Rendered]:
    """Within `budget` by the count of the whole, which need not be the sum of its parts' counts."""
    for rendering in range(_RENDERINGS):
        rendered = form.render(packed)
        over = rendered.used - budget
        if over <= 0:
            return packed, rendered
        packed = lessened(packed, by=over << rendering, form=form, counter=counter)
    return Packed(), form.render(Packed())


def _table(packed: Packed, *, form: Renderer, used: int, request: ContextRequest) -> TokenTable:
    counted: dict[Section, int] = {
        section: sum(piece.tokens for piece in pieces) for section, pieces in packed.sections
    }
    counted["working"] = sum(map(form.cost, packed.working))
    sections = {str(section): counted[section] for section in SECTIONS if section in request.include}
    return TokenTable(
        budget=request.max_tokens,
        used=used,
        sections={**sections, "envelope": used - sum(sections.values())},
    )


def _shown(packed: Packed) -> list[Ranked]:
    pieces: tuple[Piece, ...] = (*packed.profile, *packed.memories)
    return [piece.ranked for piece in pieces if piece.ranked is not None]


def _recalled(ranked: Ranked) -> RecalledMemory:
    memory = ranked.memory
    return RecalledMemory(
        id=memory.memory_id,
        text=memory.text,
        score=ranked.score,
        tier=memory.tier,
        turn_ids=memory.turn_ids,
        why=ranked.why,
    )


def _language(request: ContextRequest, *, gathered: Gathered) -> str:
    usual = (request.session.language if request.session else None) or "en"
    said = [turn.text for turn in gathered.turns[-_LANGUAGE_TURNS:] if turn.role == "user"]
    return language_of(" ".join([request.query or "", *said]), fallback=usual)
