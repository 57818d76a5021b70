"""How a token budget is divided."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.policy import BudgetSplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Tokens of each part of a context; the profile is of the long-term part."""

    working: int
    condensed: int
    long_term: int


def grants(total: int, *, split: BudgetSplit, required: int, demand: Parts) -> Parts:
    """What each part may take of `total`, never more than it demands.

    Working memory gets its share, and `required` when that is more; the others divide what is left in their
    proportion. What a part does not need flows on to the next, working → condensed → long-term, and what is
    left after the last goes round once more.
    """
    wanted = (demand.working, demand.condensed, demand.long_term)
    granted = [0, 0, 0]
    spare = 0
    for lap in (_shares(total, split=split, required=required), (0, 0, 0)):
        for part, share in enumerate(lap):
            have = share + spare
            taken = min(have, wanted[part] - granted[part])
            granted[part] += taken
            spare = have - taken
    return Parts(working=granted[0], condensed=granted[1], long_term=granted[2])


def _shares(total: int, *, split: BudgetSplit, required: int) -> tuple[int, int, int]:
    working = min(max(round(total * split.working), required), total)
    rest = split.condensed + split.long_term
    condensed = round((total - working) * split.condensed / rest) if rest else 0
    return working, condensed, total - working - condensed
