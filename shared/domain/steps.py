"""The table of steps: which a batch has, by its kind, and what each needs done first.

    accept ─▶ batch ─▶ extract ∥ summarize ─▶ embed ─▶ merge ─▶ index

`index` is no step of a batch: merges, edits and deletes leave debts that it pays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.domain.session import BatchKind, StepName

Needs = Mapping[StepName, Sequence[StepName]]

STEPS_OF: Mapping[BatchKind, Needs] = {
    "live": {"extract": (), "summarize": (), "embed": ("extract", "summarize"), "merge": ("embed",)},
    "close": {"summarize": (), "embed": ("summarize",), "merge": ("embed",)},
    "direct": {"embed": (), "merge": ("embed",)},
}
