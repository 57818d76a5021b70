from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import Literal

from shared.domain.errors import Invalid

Persona = Literal["technical", "general", "default"]
# Share of tokens removed.
COMPRESSION: dict[Persona, float] = {"technical": 0.7, "general": 0.9, "default": 0.85}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """Shares of a context budget; what a part leaves unused flows on to the next."""

    working: float = 0.15
    condensed: float = 0.35
    long_term: float = 0.50

    def __post_init__(self) -> None:
        if min(self.working, self.condensed, self.long_term) < 0:
            raise Invalid("budget_split", "budget shares must not be negative")
        if not isclose(self.working + self.condensed + self.long_term, 1.0):
            raise Invalid("budget_split", "budget shares must add up to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPolicy:
    """What a tenant may set per customer; `None` leaves the tenant's or the product's default."""

    persona: Persona = "default"
    compression: float | None = None
    language: str | None = None
    timezone: str | None = None
    legal_hold: bool = False

    @property
    def share_removed(self) -> float:
        return COMPRESSION[self.persona] if self.compression is None else self.compression
