"""What the read path needs of a unit of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.ids import MemoryId, SessionKey, UserKey
from shared.domain.memory import Memory
from shared.domain.session import CondensedEntry
from shared.domain.turn import Turn
from shared.ports.rows import MemoryFilter, OwedMemory, SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A turn that no batch has folded yet, with the session it was said in."""

    turn: Turn
    session_key: SessionKey
    session_id: str


class RecallTurns(Protocol):
    def newest(self, session: SessionRow, *, limit: int) -> list[Turn]:
        """The last `limit` turns, oldest first, pending ones included, erased ones left out."""
        ...

    def pending_elsewhere(
        self, user_key: UserKey, *, here: SessionKey | None, limit: int
    ) -> list[PendingTurn]:
        """The newest `limit` pending turns of the user's live sessions other than `here`, newest first;
        system turns left out."""
        ...


class RecallCondensed(Protocol):
    def newest(self, session_key: SessionKey, *, before: int, limit: int) -> list[CondensedEntry]:
        """Entries that end before sequence `before`, the newest `limit` of them, oldest first."""
        ...


class RecallMemories(Protocol):
    def hydrate(self, memory_ids: Sequence[MemoryId], *, only: MemoryFilter) -> list[Memory]:
        """Those of the ids that may be served: live under today's epochs and passing the filter."""
        ...

    def owed(self, user_key: UserKey, *, embedder: str, limit: int) -> list[OwedMemory]: ...

    def profile(self, user_key: UserKey) -> list[Memory]:
        """The user's live slot memories, one a slot."""
        ...

    def open_issues(self, session_key: SessionKey, *, limit: int) -> list[Memory]:
        """Of this session, newest first. One that is resolved was superseded or has ended."""
        ...

    def search_text(self, user_key: UserKey, *, words: Sequence[str], limit: int) -> list[Memory]:
        """Lexical search without the index, for when the vector server is down; best first."""
        ...


class RecallWork(Protocol):
    """The part of a unit of work that the read path uses."""

    @property
    def turns(self) -> RecallTurns: ...

    @property
    def condensed(self) -> RecallCondensed: ...

    @property
    def memories(self) -> RecallMemories: ...
